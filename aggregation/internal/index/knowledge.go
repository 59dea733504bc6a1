// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// place identifies a delivered Application: its cluster, namespace and name.
type place struct {
	cluster, namespace, name string
}

func (p place) compare(o place) int {
	if c := cmp.Compare(p.cluster, o.cluster); c != 0 {
		return c
	}
	if c := cmp.Compare(p.name, o.name); c != 0 {
		return c
	}
	return cmp.Compare(p.namespace, o.namespace)
}

// findings has the results of search about an ApplicationSet. Any managed cluster can claim to have
// Applications of it. So only results for the delivered Applications of its works count.
type findings struct {
	resources merge.ResourceList // of all of list
	list      []finding          // sorted by place
	// unread are the clusters that it does not cover, sorted. unreadSince is since when, as RFC
	// 3339.
	unread      []string
	unreadSince string
}

// finding is the result of search about one delivered Application.
type finding struct {
	at        place
	resources []uint32      // by index in the list of the findings, may be shared
	search    *merge.Search // nil for nothing
	leftOut   int32         // resources that did not fit into the intermediate report
}

// result is the finding without the resources.
func (f *finding) result() merge.Search {
	if f.search == nil {
		return merge.Search{}
	}
	return *f.search
}

// newFindings takes over an intermediate report. The Applications of an ApplicationSet
// mostly deploy the same, so each resource is kept once and each list of them once.
func newFindings(r *intermediate.Report) *findings {
	f := &findings{list: make([]finding, 0, len(r.Applications)), unread: slices.Sorted(slices.Values(r.UnreadClusters))}
	if r.UnreadSince != nil {
		f.unreadSince = r.UnreadSince.UTC().Format(time.RFC3339)
	}
	lists, total := map[intermediate.List][]uint32{}, 0
	var distinct [][]intermediate.Resource
	for i := range r.Applications {
		resources := r.Applications[i].Resources
		if _, known := lists[intermediate.ListOf(resources)]; !known {
			lists[intermediate.ListOf(resources)] = nil
			distinct, total = append(distinct, resources), total+len(resources)
		}
	}
	refs := make([]v1alpha1.ResourceRef, 0, total)
	for _, resources := range distinct {
		for k := range resources {
			refs = append(refs, refTo(&resources[k]))
		}
	}
	f.resources = merge.Resources(refs)
	for i := range r.Applications {
		a := &r.Applications[i]
		l := intermediate.ListOf(a.Resources)
		if lists[l] == nil {
			lists[l] = f.numbers(a.Resources)
		}
		f.list = append(f.list, finding{
			at:        place{manifestcache.Intern(a.Cluster), manifestcache.Intern(a.Namespace), a.Name},
			resources: lists[l], search: searchOf(a), leftOut: int32(min(a.LeftOut, math.MaxInt32)), // #nosec G115 -- bounded
		})
	}
	slices.SortStableFunc(f.list, func(x, y finding) int { return x.at.compare(y.at) })
	f.list = slices.Clip(slices.CompactFunc(f.list, func(x, y finding) bool { return x.at == y.at })) // an odd report counts once
	return f
}

// numbers returns the indexes of resources in the list of the findings.
func (f *findings) numbers(resources []intermediate.Resource) []uint32 {
	numbers := make([]uint32, 0, len(resources))
	for i := range resources {
		if n, found := f.resources.Find(refTo(&resources[i])); found {
			numbers = append(numbers, uint32(n)) // #nosec G115 -- a file has less than 2^32 bytes
		}
	}
	return numbers
}

func searchOf(a *intermediate.Application) *merge.Search {
	if a.StaleSince == nil && len(a.Conditions) == 0 {
		return nil
	}
	s := &merge.Search{}
	if a.StaleSince != nil {
		s.StaleSince = manifestcache.Intern(a.StaleSince.UTC().Format(time.RFC3339))
	}
	for _, c := range a.Conditions {
		s.Conditions = append(s.Conditions, v1alpha1.Condition{Type: manifestcache.Intern(c.Type), Message: manifestcache.Intern(c.Message)})
	}
	return s
}

// of returns the finding for a delivered Application, or nil.
func (f *findings) of(at place) *finding {
	i, found := slices.BinarySearchFunc(f.list, at, func(t finding, at place) int { return t.at.compare(at) })
	if !found {
		return nil
	}
	return &f.list[i]
}

// include reports whether search has read the Application of a work. A cluster also counts as unread if
// resourcesync had no room for some of its Applications.
func (f *findings) include(w *manifestcache.Work) bool {
	return f.covers(w.Namespace) || f.of(placeOf(w)) != nil
}

func (f *findings) covers(cluster string) bool {
	_, unread := slices.BinarySearch(f.unread, cluster)
	return !unread
}

func refTo(r *intermediate.Resource) v1alpha1.ResourceRef {
	return v1alpha1.ResourceRef{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, Namespace: r.Namespace}
}
