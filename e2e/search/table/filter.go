// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// defaultLimit is the service's QUERY_LIMIT.
const defaultLimit = 1000

// errInternal is the service's error for an input that makes it panic.
var errInternal = errors.New("internal system error")

// Filter is a condition: the property has one of the values.
type Filter struct {
	Property string
	// Values may contain nil, which makes the service fail.
	Values []*string
}

// Query selects rows.
type Query struct {
	Filters []Filter
	// Limit is the highest number of rows, and of related rows. nil and 0 mean 1000, and -1 means no
	// limit.
	Limit *int
}

// limit returns the highest number of rows, or -1.
func (q Query) limit() int {
	if q.Limit == nil || *q.Limit == 0 || *q.Limit < -1 {
		return defaultLimit
	}
	return *q.Limit
}

// matcher returns a function that reports whether a row matches the query's filters.
func (q Query) matcher() (func(*entry) bool, error) {
	if len(q.Filters) == 0 {
		return nil, fmt.Errorf("query input must contain a filter or keyword. Received: %+v", q)
	}
	var tests []func(*entry) bool
	for _, filter := range q.Filters {
		if len(filter.Values) == 0 {
			continue
		}
		test, err := filter.matcher()
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return func(e *entry) bool {
		for _, test := range tests {
			if !test(e) {
				return false
			}
		}
		return true
	}, nil
}

func (f Filter) matcher() (func(*entry) bool, error) {
	exact := make(map[string]bool, len(f.Values))
	for _, value := range f.Values {
		if value == nil {
			return nil, errInternal
		}
		if f.Property == "label" && !strings.Contains(*value, "=") {
			return nil, errors.New("incorrect label format, label filters must have the format key=value")
		}
		exact[*value] = true
	}
	return func(e *entry) bool {
		return slices.ContainsFunc(e.values(f.Property), func(value string) bool { return exact[value] })
	}, nil
}

// values returns the values that a filter on the property compares. The UID is not a property, so no filter
// matches it.
func (e *entry) values(property string) []string {
	if property == keyCluster {
		return []string{e.Cluster}
	}
	switch stored := e.Data[property].(type) {
	case nil:
		return nil
	case map[string]any:
		pairs := make([]string, 0, len(stored))
		for key, value := range stored {
			pairs = append(pairs, key+"="+Flatten(value))
		}
		return pairs
	case []any:
		elements := make([]string, 0, len(stored))
		for _, value := range stored {
			elements = append(elements, Flatten(value))
		}
		return elements
	default:
		return []string{Flatten(stored)}
	}
}
