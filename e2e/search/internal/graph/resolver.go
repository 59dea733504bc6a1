// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"errors"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// Resolver answers queries from a table.
type Resolver struct{ Table *table.Table }

// Query returns the resolver of queries.
func (r *Resolver) Query() QueryResolver { return query{r.Table} }

type query struct{ table *table.Table }

// Search returns one result for each input; their statements run when a field
// is asked for, and fail one by one.
func (q query) Search(ctx context.Context, inputs []*SearchInput) ([]*Result, error) {
	session := SessionFrom(ctx)
	if session.Denied != nil {
		return nil, session.Denied
	}
	view := q.table.View(session.Scope)
	results := make([]*Result, 0, len(inputs))
	for _, input := range inputs {
		results = append(results, &Result{view: view, query: input.query(), disturbance: session.Disturbance})
	}
	return results, nil
}

// SearchComplete returns the distinct values of a property.
func (q query) SearchComplete(ctx context.Context, property string, input *SearchInput, limit *int) ([]*string, error) {
	session := SessionFrom(ctx)
	if err := errors.Join(session.Denied, session.Disturbance.Statement); err != nil {
		return nil, err
	}
	most := 0
	if limit != nil {
		most = *limit
	}
	values, err := q.table.View(session.Scope).Complete(property, input.query(), most)
	out := make([]*string, 0, len(values))
	for _, value := range values {
		out = append(out, &value)
	}
	return out, err
}

// query returns the input as a query; no input has no condition.
func (i *SearchInput) query() table.Query {
	if i == nil {
		return table.Query{}
	}
	q := table.Query{Limit: i.Limit}
	for _, filter := range i.Filters {
		if filter != nil {
			q.Filters = append(q.Filters, table.Filter{Property: filter.Property, Values: filter.Values})
		}
	}
	return q
}
