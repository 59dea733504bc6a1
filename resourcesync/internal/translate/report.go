// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"cmp"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Cluster is what is known of the pulled Applications on one managed cluster.
type Cluster struct {
	// Applications are sorted.
	Applications []Application
	// StaleSince is when this was last true for sure; nil: it is true now.
	StaleSince *time.Time
}

// Reports returns the intermediate reports of the wanted ApplicationSets, one for
// each, also for those without Applications. They share memory with clusters.
func Reports(wanted []intermediate.Key, clusters map[string]Cluster) []*intermediate.Report {
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
				Resources: a.Resources, Conditions: a.Conditions, StaleSince: c.StaleSince,
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

// Restore turns reports back into what is known of each cluster, for a program
// that starts over. Everything in it is stale: since written, when its report was
// written, unless the report itself says since when.
func Restore(r *intermediate.Report, written time.Time, into map[string]Cluster) {
	set := intermediate.Key{Namespace: r.Namespace, Name: r.Name}
	for i := range r.Applications {
		a := &r.Applications[i]
		since := written
		if a.StaleSince != nil {
			since = *a.StaleSince
		}
		c := into[a.Cluster]
		c.Applications = append(c.Applications, Application{
			Set: set, Namespace: a.Namespace, Name: a.Name, Resources: a.Resources, Conditions: a.Conditions,
		})
		if c.StaleSince == nil || since.Before(*c.StaleSince) {
			c.StaleSince = &since
		}
		slices.SortFunc(c.Applications, func(a, b Application) int { return a.Compare(&b) })
		into[a.Cluster] = c
	}
}
