// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Cluster has the pulled Applications on one managed cluster.
type Cluster struct {
	// Applications are sorted.
	Applications []Application
	// StaleSince is when the data was last known to be true. It is nil if the data is true now.
	StaleSince *time.Time
}

// staleSince is when a, an Application of the cluster, was last true for sure.
func (c *Cluster) staleSince(a *Application) *time.Time {
	if a.AbsentSince.IsZero() || c.StaleSince != nil && c.StaleSince.Before(a.AbsentSince) {
		return c.StaleSince
	}
	return &a.AbsentSince
}

// Reports returns the intermediate reports of the wanted ApplicationSets, one for each, even
// without Applications. They share memory with clusters.
func Reports(wanted []intermediate.Key, clusters iter.Seq2[string, *Cluster]) []*intermediate.Report {
	out := make([]*intermediate.Report, len(wanted))
	bySet := make(map[intermediate.Key]*intermediate.Report, len(wanted))
	for i, set := range wanted {
		out[i] = &intermediate.Report{Namespace: set.Namespace, Name: set.Name, Applications: []intermediate.Application{}}
		bySet[set] = out[i]
	}
	for name, c := range clusters {
		for i := range c.Applications {
			a := &c.Applications[i]
			r := bySet[a.Set]
			if r == nil {
				continue
			}
			r.Applications = append(r.Applications, intermediate.Application{
				Cluster: name, Namespace: a.Namespace, Name: a.Name,
				Resources: a.Resources, HeldResources: a.Held, LeftOut: a.LeftOut, Conditions: a.Conditions, StaleSince: c.staleSince(a),
			})
		}
	}
	for _, r := range out {
		slices.SortFunc(r.Applications, func(a, b intermediate.Application) int {
			return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return out
}

// Restore converts a report back into the state of each cluster, after a restart.
func Restore(r *intermediate.Report, into map[string]Cluster) {
	set := intermediate.Key{Namespace: r.Namespace, Name: r.Name}
	for i := range r.Applications {
		a := &r.Applications[i]
		app := Application{
			Set: set, Namespace: a.Namespace, Name: a.Name, Resources: a.Resources, Conditions: a.Conditions, Held: a.HeldResources, LeftOut: a.LeftOut,
		}
		c := into[a.Cluster]
		switch whole := len(a.Resources) > 0 && len(a.HeldResources) == len(a.Resources); {
		case a.StaleSince == nil:
		case whole:
			app.AbsentSince = slices.MinFunc(a.HeldResources, func(x, y intermediate.HeldResource) int { return x.Since.Compare(y.Since) }).Since
		case c.StaleSince == nil || a.StaleSince.Before(*c.StaleSince):
			c.StaleSince = a.StaleSince
		}
		at, _ := slices.BinarySearchFunc(c.Applications, &app, func(e Application, a *Application) int { return e.Compare(a) })
		c.Applications = slices.Insert(c.Applications, at, app)
		into[a.Cluster] = c
	}
}
