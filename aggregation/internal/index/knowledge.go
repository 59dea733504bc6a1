// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// place is where an Application was delivered to.
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

// findings is what search found out about an ApplicationSet. Any managed cluster can
// claim to have Applications of it: what counts is found for the places of its works.
type findings struct {
	resources merge.ResourceList // of all of list
	list      []finding          // sorted by place
	// unread are the clusters that it does not speak for, sorted.
	unread []string
}

// finding is what search returned about the Application in one place.
type finding struct {
	at        place
	resources []uint32      // by their place in the list of the findings; may be shared
	search    *merge.Search // nil for nothing
}

// result is what search returned but for the resources.
func (f *finding) result() merge.Search {
	if f.search == nil {
		return merge.Search{}
	}
	return *f.search
}

// newFindings takes over an intermediate report.
func newFindings(r *intermediate.Report) *findings {
	b := &builder{findings: &findings{list: make([]finding, 0, len(r.Applications)), unread: slices.Sorted(slices.Values(r.UnreadClusters))}}
	for i := range r.Applications {
		a := &r.Applications[i]
		b.add(place{manifestcache.Intern(a.Cluster), manifestcache.Intern(a.Namespace), a.Name}, a.Resources, searchOf(a))
	}
	return b.build()
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

// of returns what was found for a place, nil when nothing was.
func (f *findings) of(at place) *finding {
	i, found := slices.BinarySearchFunc(f.list, at, func(t finding, at place) int { return t.at.compare(at) })
	if !found {
		return nil
	}
	return &f.list[i]
}

func (f *findings) speaksFor(cluster string) bool {
	_, unread := slices.BinarySearch(f.unread, cluster)
	return !unread
}

func refTo(r *intermediate.Resource) v1alpha1.ResourceRef {
	return v1alpha1.ResourceRef{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, Namespace: r.Namespace}
}

// builder gathers findings. The Applications of an ApplicationSet mostly deploy the
// same, so each resource is kept once and each list of them once.
type builder struct {
	*findings
	lists [][]intermediate.Resource // those of list, in the order of adding
}

func (b *builder) add(at place, resources []intermediate.Resource, search *merge.Search) {
	b.list = append(b.list, finding{at: at, search: search})
	b.lists = append(b.lists, resources)
}

func (b *builder) build() *findings {
	total := 0
	for _, list := range b.lists {
		total += len(list)
	}
	refs := make([]v1alpha1.ResourceRef, 0, total)
	for _, list := range b.lists {
		for i := range list {
			refs = append(refs, refTo(&list[i]))
		}
	}
	b.resources = merge.Resources(refs)
	shared := map[string][]uint32{}
	var key []byte
	for i, list := range b.lists {
		key = key[:0]
		for j := range list {
			if n, found := b.resources.Find(refTo(&list[j])); found {
				key = binary.NativeEndian.AppendUint32(key, uint32(n)) // #nosec G115 -- a file has less than 2^32 bytes
			}
		}
		numbers, known := shared[string(key)]
		if !known {
			for k := 0; k < len(key); k += 4 {
				numbers = append(numbers, binary.NativeEndian.Uint32(key[k:]))
			}
			shared[string(key)] = numbers
		}
		b.list[i].resources = numbers
	}
	slices.SortStableFunc(b.list, func(x, y finding) int { return x.at.compare(y.at) })
	b.list = slices.Clip(slices.CompactFunc(b.list, func(x, y finding) bool { return x.at == y.at })) // an odd report counts once
	return b.findings
}
