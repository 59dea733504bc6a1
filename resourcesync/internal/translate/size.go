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
	rowOverhead      = 120 // names of fields, punctuation and times of an Application
	resourceOverhead = 60
	heldOverhead     = 100
)

// Size is at least the bytes that the Applications of a cluster take in
// intermediate reports, and about the memory that they take here.
func Size(cluster string, apps []Application) int {
	total := 0
	for i := range apps {
		total += apps[i].size(cluster)
	}
	return total
}

func (a *Application) size(cluster string) int {
	n := rowOverhead + quoted(cluster) + quoted(a.Namespace) + quoted(a.Name)
	for _, c := range a.Conditions {
		n += 30 + quoted(c.Type) + quoted(c.Message)
	}
	for i := range a.Resources {
		n += a.resourceSize(i)
	}
	return n
}

func (a *Application) resourceSize(i int) int {
	r := &a.Resources[i]
	n := resourceOverhead + quoted(r.APIVersion) + quoted(r.Kind) + quoted(r.Namespace) + quoted(r.Name)
	if len(a.Held) > 0 {
		n = 2*n + heldOverhead // it may be there twice
	}
	return n
}

// Cut counts what did not fit.
type Cut struct{ Applications, Resources int }

// Add adds what else did not fit.
func (c *Cut) Add(more Cut) {
	c.Applications += more.Applications
	c.Resources += more.Resources
}

// Limit returns the Applications of a cluster in at most limit bytes. Applications
// that are larger than others lose resources first, at the end of their lists; only
// Applications that would not even fit without resources are left out themselves.
func Limit(cluster string, apps []Application, limit int) ([]Application, Cut) {
	var cut Cut
	if slices.ContainsFunc(apps, func(a Application) bool { return len(a.Resources) > MaxResources }) {
		apps = slices.Clone(apps)
	}
	for i := range apps {
		if n := len(apps[i].Resources); n > MaxResources {
			cut.Resources += n - MaxResources
			apps[i].keep(MaxResources)
		}
	}
	sizes := make([]int, len(apps))
	total := 0
	for i := range apps {
		sizes[i] = apps[i].size(cluster)
		total += sizes[i]
	}
	if total <= limit {
		return apps, cut
	}
	level := Level(sizes, limit)
	out := make([]Application, 0, len(apps))
	left := limit
	for i, a := range apps {
		if sizes[i] > level {
			cut.Resources += a.shrink(cluster, level)
		}
		size := a.size(cluster)
		if size > left {
			cut.Applications++
			continue
		}
		left -= size
		out = append(out, a)
	}
	return out, cut
}

// shrink takes resources away until the Application fits into limit, if it can,
// and returns how many.
func (a *Application) shrink(cluster string, limit int) int {
	size, n := a.size(cluster), len(a.Resources)
	for ; n > 0 && size > limit; n-- {
		size -= a.resourceSize(n - 1)
	}
	gone := len(a.Resources) - n
	a.keep(n)
	return gone
}

// keep keeps the first n resources, with what is held of them.
func (a *Application) keep(n int) {
	kept := make([]bool, 0, len(a.Held))
	a.Resources = slices.Clip(a.Resources[:n])
	for _, h := range a.Held {
		_, is := slices.BinarySearchFunc(a.Resources, h.Resource, CompareResources)
		kept = append(kept, is)
	}
	if slices.Contains(kept, false) {
		held := a.Held
		a.Held = nil
		for i, is := range kept {
			if is {
				a.Held = append(a.Held, held[i])
			}
		}
	}
}

// Level returns the size up to which each may have what it wants so that all
// together have at most limit: the small ones get all, the large ones the same.
func Level(sizes []int, limit int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		rest := len(sorted) - i
		if size*rest > limit {
			return limit / rest
		}
		limit -= size
	}
	if len(sorted) == 0 {
		return limit
	}
	return sorted[len(sorted)-1]
}

// RowSize is at least the bytes of a row of a report.
func RowSize(row *intermediate.Application) int {
	a := ofRow(row)
	return a.size(row.Cluster)
}

// ShortenRow takes resources out of a row until it fits into limit, if it can, and
// returns how many.
func ShortenRow(row *intermediate.Application, limit int) int {
	a := ofRow(row)
	n := a.shrink(row.Cluster, limit)
	row.Resources, row.HeldResources = a.Resources, a.Held
	return n
}

func ofRow(row *intermediate.Application) Application {
	return Application{Namespace: row.Namespace, Name: row.Name, Resources: row.Resources, Conditions: row.Conditions, Held: row.HeldResources}
}
