// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// defaultLimit is the service's QUERY_LIMIT.
const defaultLimit = 1000

// errInternal is what the service says of an input that makes it panic.
var errInternal = errors.New("internal system error")

// Filter is a condition: the property has one of the values.
type Filter struct {
	Property string
	// Values may hold nil, which the service cannot stand.
	Values []*string
}

// Query asks for rows.
type Query struct {
	Keywords []string
	Filters  []Filter
	// Limit is the most rows and the most related rows; nil or 0 is 1000, -1
	// none.
	Limit *int
	// Offset is the number of rows to skip.
	Offset *int
	// OrderBy is "<property> [asc|desc]" or empty.
	OrderBy string
	// RelatedKinds limits the related rows to these kinds; none is all.
	RelatedKinds []string
}

// limit returns the most rows, or -1.
func (q Query) limit() int {
	if q.Limit == nil || *q.Limit == 0 || *q.Limit < -1 {
		return defaultLimit
	}
	return *q.Limit
}

// matcher returns whether a row matches the query's filters and keywords.
func (q Query) matcher() (func(*entry) bool, error) {
	if len(q.Filters) == 0 && len(q.Keywords) == 0 {
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
	for _, keyword := range q.Keywords {
		tests = append(tests, keywordMatcher(keyword))
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

func keywordMatcher(keyword string) func(*entry) bool {
	keyword = strings.ToLower(keyword)
	return func(e *entry) bool {
		for _, value := range e.flat {
			if strings.Contains(strings.ToLower(value), keyword) {
				return true
			}
		}
		return false
	}
}

func (f Filter) matcher() (func(*entry) bool, error) {
	exact := make(map[string]bool, len(f.Values))
	var tests []func(string) bool
	// Kinds are compared without case as soon as one value starts in lower case.
	fold := f.Property == keyKind && slices.ContainsFunc(f.Values, func(v *string) bool {
		return v != nil && *v != "" && strings.ToLower((*v)[:1]) == (*v)[:1]
	})
	for _, pointer := range f.Values {
		if pointer == nil {
			return nil, errInternal
		}
		value := *pointer
		if f.Property == "label" && !strings.Contains(value, "=") {
			return nil, errors.New("incorrect label format, label filters must have the format key=value")
		}
		if fold {
			value = strings.ToLower(value)
		}
		if test := valueTest(value); test != nil && f.Property != "label" {
			tests = append(tests, test)
		} else {
			exact[value] = true
		}
	}
	one := func(value string) bool {
		if fold {
			value = strings.ToLower(value)
		}
		return exact[value] || slices.ContainsFunc(tests, func(t func(string) bool) bool { return t(value) })
	}
	return func(e *entry) bool { return slices.ContainsFunc(e.values(f.Property), one) }, nil
}

// values returns what a filter on the property is compared with. The UID is not
// a property: nothing matches it.
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

// valueTest returns the test for a value with an operator or a wildcard, or nil
// for a plain value.
func valueTest(value string) func(string) bool {
	for _, operator := range []string{"!=", "!", ">=", ">", "<=", "<", "="} {
		operand, ok := strings.CutPrefix(value, operator)
		if !ok {
			continue
		}
		switch operator {
		case "!=", "!":
			return func(v string) bool { return v != operand }
		case "=":
			return func(v string) bool { return v == operand }
		default:
			return func(v string) bool { return compares(compare(v, operand), operator) }
		}
	}
	if strings.Contains(value, "*") {
		return wildcard(value)
	}
	return nil
}

func compares(order int, operator string) bool {
	switch operator {
	case ">=":
		return order >= 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	default:
		return order < 0
	}
}

// compare orders numbers as numbers and everything else as text.
func compare(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	default:
		return 0
	}
}

// wildcard matches a pattern in which * stands for any text.
func wildcard(pattern string) func(string) bool {
	parts := strings.Split(pattern, "*")
	first, middle, last := parts[0], parts[1:len(parts)-1], parts[len(parts)-1]
	return func(value string) bool {
		rest, ok := strings.CutPrefix(value, first)
		if !ok {
			return false
		}
		for _, part := range middle {
			_, after, found := strings.Cut(rest, part)
			if !found {
				return false
			}
			rest = after
		}
		return strings.HasSuffix(rest, last)
	}
}
