// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"cmp"
	"maps"
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// keep replaces the Applications of a cluster. cut has the parts of them that did not fit.
func (s *state) keep(cluster string, st *clusterState, apps []translate.Application, cut translate.Cut) {
	s.markDirty(st.Applications)
	s.markDirty(apps)
	before := st.Applications
	st.Applications, st.leftOut = s.lists.use(apps), cut
	s.lists.release(before)
	s.rows -= st.rows
	st.rows = 0
	for i := range apps {
		st.rows += translate.RowSize(cluster, &apps[i])
	}
	s.rows += st.rows
	st.bytes = translate.Size(cluster, apps)
}

// bytes returns the bytes that all clusters take together.
func (s *state) bytes() int { return s.rows + s.lists.bytes }

// fit leaves out the largest clusters until the others fit, with some room.
func (s *state) fit() {
	if s.bytes() <= s.limit {
		return
	}
	for _, c := range largestFirst(s.clusters, func(st *clusterState) int { return st.bytes }) {
		if s.bytes() <= s.limit/10*9 {
			return
		}
		st := s.clusters[c]
		cut := translate.All(st.Applications)
		cut.Add(st.leftOut)
		s.keep(c, st, nil, cut)
	}
}

// excluded returns the clusters with Applications that are left out, sorted.
func (s *state) excluded() (out []string) {
	for c, st := range s.clusters {
		if st.leftOut.Applications > 0 {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

// readExcluded makes the next answers count about clusters that are left out completely, if the
// reports have room again.
func (s *state) readExcluded() {
	if s.bytes() > s.limit/2 {
		return
	}
	for _, st := range s.clusters {
		if len(st.Applications) == 0 && st.leftOut.Applications > 0 {
			st.answer = nil
		}
	}
}

// largestFirst returns keys by size, of equals the last first.
func largestFirst[T any](of map[string]T, size func(T) int) []string {
	return slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(size(of[b]), size(of[a])), cmp.Compare(b, a))
	})
}

// claim is the room that a cluster takes in a report.
type claim struct {
	rows  int
	lists map[intermediate.List]int // bytes of each
	size  int                       // with its share of lists that others have, too
}

// shorten makes a report fit into a file. It leaves out the largest clusters and records that. So
// the size of one cluster's report does not affect the others.
func shorten(r *intermediate.Report) (cut translate.Cut) {
	total := 1 << 16 // the rest of the report
	for _, c := range r.UnreadClusters {
		total += len(c) + 3
	}
	claims, users := map[string]*claim{}, map[intermediate.List]int{}
	for i := range r.Applications {
		a := &r.Applications[i]
		c := claims[a.Cluster]
		if c == nil {
			c = &claim{lists: map[intermediate.List]int{}}
			claims[a.Cluster] = c
		}
		row := translate.RowSize(a.Cluster, &translate.Application{Namespace: a.Namespace, Name: a.Name, Conditions: a.Conditions, Held: a.HeldResources})
		c.rows += row
		total += row
		l := intermediate.ListOf(a.Resources)
		if _, counted := c.lists[l]; !counted {
			c.lists[l] = translate.ListSize(a.Resources)
			if users[l]++; users[l] == 1 {
				total += c.lists[l]
			}
		}
	}
	if total <= intermediate.MaxReportBytes {
		return cut
	}
	for _, c := range claims {
		c.size = c.rows
		for l, size := range c.lists {
			c.size += size / users[l]
		}
	}
	out := map[string]bool{}
	for _, name := range largestFirst(claims, func(c *claim) int { return c.size }) {
		if total <= intermediate.MaxReportBytes {
			break
		}
		out[name] = true
		total += len(name) + 3 - claims[name].rows
		for l, size := range claims[name].lists {
			if users[l]--; users[l] == 0 {
				total -= size
			}
		}
	}
	r.Applications = slices.DeleteFunc(r.Applications, func(a intermediate.Application) bool {
		if out[a.Cluster] {
			cut.Applications++
			cut.Resources += len(a.Resources)
		}
		return out[a.Cluster]
	})
	r.UnreadClusters = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(r.UnreadClusters, maps.Keys(out)))))
	return cut
}
