// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// View is the knowledge about one ApplicationSet at one moment. Rows and resources
// are shared and never change.
type View struct {
	// Rows are sorted by [merge.Compare]. The slice belongs to the caller.
	Rows      []*merge.Row
	Resources merge.ResourceList
	// LeftOut counts the resources that did not fit into the intermediate report.
	LeftOut int
}

// View returns the rows and resources of an ApplicationSet. It is empty if the ApplicationSet has
// none.
func (x *Index) View(key types.NamespacedName) View {
	v := x.view(key)
	for _, other := range x.others {
		if more := other.Rows(key); len(more) > 0 {
			v.Rows = append(v.Rows, more...)
			slices.SortFunc(v.Rows, merge.Compare)
		}
	}
	return v
}

func (x *Index) view(key types.NamespacedName) View {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.sets[key]
	if s == nil {
		return View{}
	}
	v := View{Rows: make([]*merge.Row, 0, len(s.entries)), Resources: s.resources(), LeftOut: s.leftOut()}
	for _, e := range s.entries {
		if !e.hidden {
			v.Rows = append(v.Rows, e.row)
		}
	}
	return v
}
