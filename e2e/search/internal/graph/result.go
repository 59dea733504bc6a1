// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"sync"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// Result answers one input. Items and related items share one statement, count
// has its own.
type Result struct {
	view        table.View
	query       table.Query
	disturbance Disturbance

	once  sync.Once
	found table.Found
	err   error
}

// Count returns the number of rows that match, whatever the limit.
func (r *Result) Count(context.Context) (*int, error) {
	if err := r.disturbance.Statement; err != nil {
		return nil, err
	}
	count, err := r.view.Count(r.query)
	if err != nil {
		return nil, err
	}
	return &count, nil
}

// Items returns the rows that match.
func (r *Result) Items(context.Context) ([]table.Item, error) {
	if err := r.find(); err != nil {
		return nil, err
	}
	return r.found.Items(), nil
}

// Related returns the rows related to the items: null when there is no item,
// an empty list when nothing is related to them.
func (r *Result) Related(context.Context) ([]*SearchRelatedResult, error) {
	if err := r.find(); err != nil || r.found.Empty() {
		return nil, err
	}
	related := []*SearchRelatedResult{}
	for _, group := range r.view.Related(r.query, r.found) {
		items := group.Items
		spared := r.disturbance.NodesKept && group.Kind == "Cluster"
		if r.disturbance.CutRelated && !spared {
			items = items[:int(float64(len(items))*r.disturbance.RelatedKept)]
		}
		if count := len(items); count > 0 {
			related = append(related, &SearchRelatedResult{Kind: group.Kind, Count: &count, Items: items})
		}
	}
	return related, nil
}

func (r *Result) find() error {
	r.once.Do(func() {
		if r.err = r.disturbance.Statement; r.err != nil {
			return
		}
		if r.found, r.err = r.view.Find(r.query); r.disturbance.CutItems {
			r.found = r.found.Cut(r.disturbance.ItemsKept)
		}
	})
	return r.err
}
