// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"cmp"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// ResourceList is the resources of a report, sorted and without doubles. The zero
// value is empty.
type ResourceList struct {
	refs  []v1alpha1.ResourceRef
	bytes int // of all as JSON, each with a comma
}

// Resources sorts resources and drops doubles and resources that a report never lists.
// It takes refs over.
func Resources(refs []v1alpha1.ResourceRef) ResourceList {
	refs = slices.DeleteFunc(refs, func(r v1alpha1.ResourceRef) bool { return !contract.IsReported(r.APIVersion, r.Kind) })
	if len(refs) == 0 {
		return ResourceList{}
	}
	slices.SortFunc(refs, compareResources)
	if refs = slices.Compact(refs); len(refs) > cap(refs)/2 {
		refs = slices.Clip(refs)
	} else {
		refs = append(make([]v1alpha1.ResourceRef, 0, len(refs)), refs...) // without the room of the doubles
	}
	l := ResourceList{refs: refs}
	for i := range refs {
		l.bytes += jsonBytes(refs[i]) + 1
	}
	return l
}

// Refs returns the resources. The caller must not change them.
func (l ResourceList) Refs() []v1alpha1.ResourceRef { return l.refs }

// truncate returns the first resources with at most budget bytes together. A resource that does not
// fit is skipped, and later ones may fit.
func (l ResourceList) truncate(budget int) ResourceList {
	if l.bytes <= budget {
		return l
	}
	var fitting ResourceList
	for i := range l.refs {
		if n := jsonBytes(l.refs[i]) + 1; fitting.bytes+n <= budget {
			fitting.refs = append(fitting.refs, l.refs[i])
			fitting.bytes += n
		}
	}
	return fitting
}

// Only returns the resources that keep accepts by their index in Refs.
func (l ResourceList) Only(keep func(i int) bool) ResourceList {
	kept := 0
	for i := range l.refs {
		if keep(i) {
			kept++
		}
	}
	switch kept {
	case len(l.refs):
		return l
	case 0:
		return ResourceList{}
	}
	some := ResourceList{refs: make([]v1alpha1.ResourceRef, 0, kept)}
	for i := range l.refs {
		if keep(i) {
			some.refs = append(some.refs, l.refs[i])
			some.bytes += jsonBytes(l.refs[i]) + 1
		}
	}
	return some
}

// Find returns the index of a resource in Refs.
func (l ResourceList) Find(ref v1alpha1.ResourceRef) (i int, found bool) {
	return slices.BinarySearchFunc(l.refs, ref, compareResources)
}

func compareResources(a, b v1alpha1.ResourceRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
}
