// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// MaxResources is the largest number of resources kept of one Application, several
// times as many as a report on the hub has room for.
const MaxResources = 5000

const (
	rowOverhead      = 160 // names of fields, punctuation, times and numbers of an Application
	resourceOverhead = 60
	heldOverhead     = 100
)

// Size is the smallest number of bytes that the Applications of a cluster need in intermediate
// reports if no other Application has the same resources.
func Size(cluster string, apps []Application) int {
	total := 0
	for i := range apps {
		total += RowSize(cluster, &apps[i]) + ListSize(apps[i].Resources)
	}
	return total
}

// RowSize is the smallest number of bytes of an Application in a report without its list of
// resources.
func RowSize(cluster string, a *Application) int {
	return a.leastSize(cluster) + a.heldSize()
}

// leastSize is the size of a row without anything about resources.
func (a *Application) leastSize(cluster string) int {
	n := rowOverhead + quoted(cluster) + quoted(a.Namespace) + quoted(a.Name)
	for _, c := range a.Conditions {
		n += 30 + quoted(c.Type) + quoted(c.Message)
	}
	return n
}

func (a *Application) heldSize() int {
	n := 0
	for i := range a.Held {
		n += heldOverhead + resourceSize(&a.Held[i].Resource)
	}
	return n
}

// ListSize is the smallest number of bytes of a list of resources.
func ListSize(list []intermediate.Resource) int {
	n := 0
	for i := range list {
		n += resourceSize(&list[i])
	}
	return n
}

func resourceSize(r *intermediate.Resource) int {
	return resourceOverhead + quoted(r.APIVersion) + quoted(r.Kind) + quoted(r.Namespace) + quoted(r.Name)
}

// Cut counts the Applications and resources that did not fit.
type Cut struct{ Applications, Resources int }

// Add adds further counts.
func (c *Cut) Add(more Cut) {
	c.Applications += more.Applications
	c.Resources += more.Resources
}

// All returns the cut that leaves out some Applications completely.
func All(apps []Application) Cut {
	cut := Cut{Applications: len(apps)}
	for i := range apps {
		cut.Resources += len(apps[i].Resources)
	}
	return cut
}

// Limit returns the Applications of a cluster in at most limit bytes. Each has at most
// [MaxResources]. Then the last Applications lose their resources. Only Applications that do not
// fit without resources are left out.
func Limit(cluster string, apps []Application, limit int) ([]Application, Cut) {
	if Size(cluster, apps) <= limit && !slices.ContainsFunc(apps, func(a Application) bool { return len(a.Resources) > MaxResources }) {
		return apps, Cut{}
	}
	left, fit := limit, 0
	for ; fit < len(apps); fit++ {
		if left -= apps[fit].leastSize(cluster); left < 0 {
			left += apps[fit].leastSize(cluster)
			break
		}
	}
	kept, cut := slices.Clone(apps[:fit]), All(apps[fit:])
	for i := range kept {
		a := &kept[i]
		a.keep(MaxResources)
		if ListSize(a.Resources)+a.heldSize() > left {
			a.keep(0)
		}
		left -= ListSize(a.Resources) + a.heldSize()
		cut.Resources += a.LeftOut
	}
	return kept, cut
}

// keep keeps the first n resources at most, with the held resources among them.
func (a *Application) keep(n int) {
	if len(a.Resources) <= n {
		return
	}
	a.LeftOut += len(a.Resources) - n
	a.Resources = slices.Clip(a.Resources[:n])
	a.Held = slices.DeleteFunc(slices.Clone(a.Held), func(h intermediate.HeldResource) bool {
		_, kept := slices.BinarySearchFunc(a.Resources, h.Resource, CompareResources)
		return !kept
	})
}
