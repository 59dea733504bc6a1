// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// answer is a decoded GraphQL response.
type answer struct {
	errors  []graphQLError
	results []Result // of "searchResult"; nil when it was null or absent
	values  []string // of "searchComplete"
	data    bool     // "data" was there and not null
}

type graphQLError struct {
	Message    string `json:"message"`
	Path       []any  `json:"path"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// decode reads a response. A broken one is an error, an odd row is not.
func decode(body []byte) (*answer, error) { return walk(body, newDecoder()) }

// scan is decode without the rows: it returns the digests of results that decode
// would return, or ones that are equal to no digest that decode returns.
func scan(body []byte) (*answer, error) { return walk(body, nil) }

func walk(body []byte, rows *decoder) (*answer, error) {
	s := &stream{lexer: newLexer(body), rows: rows}
	a := &answer{}
	err := s.object(func(name string) error {
		switch name {
		case "errors":
			return s.decode(&a.errors)
		case "data":
			return s.nullable(func() error {
				a.data = true
				return s.object(func(name string) error { return s.data(a, name) })
			})
		}
		return s.ignore()
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, decodeError(err)
	}
	return a, nil
}

// stream walks a response.
type stream struct {
	*lexer
	rows *decoder // nil: rows are not decoded
}

func (s *stream) data(a *answer, name string) error {
	switch name {
	case "searchResult":
		a.results = nil
		return s.nullable(func() error {
			a.results = []Result{}
			return s.list(func() error {
				result := Result{Count: -1, Digest: Digest{Items: Sum{Rows: -1}, Related: Sum{Rows: -1}}}
				err := s.nullable(func() error { return s.object(func(name string) error { return s.result(&result, name) }) })
				a.results = append(a.results, result)
				return err
			})
		})
	case "searchComplete":
		return s.nullable(func() error {
			return s.list(func() error {
				raw, err := s.value()
				if err != nil {
					return err
				}
				if s.rows == nil {
					return nil
				}
				if v, err := s.rows.text(raw); err == nil && v != "" {
					a.values = append(a.values, v)
				}
				return nil
			})
		})
	}
	return s.ignore()
}

func (s *stream) result(r *Result, name string) error {
	switch name {
	case "count":
		raw, err := s.value()
		if n, e := strconv.Atoi(string(raw)); e == nil {
			r.Count, r.Digest.Count = n, n
		}
		return err
	case "items":
		return s.nullable(func() error {
			r.Digest.Items, r.Items = Sum{}, nil
			return s.list(func() error { return s.row(r, &r.Digest.Items, &r.Items) })
		})
	case "related":
		return s.nullable(func() error {
			r.Digest.Related.Rows = max(r.Digest.Related.Rows, 0)
			return s.list(func() error {
				return s.object(func(name string) error {
					if name != "items" {
						return s.ignore()
					}
					return s.nullable(func() error {
						return s.list(func() error { return s.row(r, &r.Digest.Related, &r.Related) })
					})
				})
			})
		})
	}
	return s.ignore()
}

// row adds a row to a sum and, decoded, to a list.
func (s *stream) row(r *Result, sum *Sum, into *[]Item) error {
	if s.rows == nil {
		raw, err := s.scan()
		if err == nil {
			sum.add(raw)
		}
		return err
	}
	raw, err := s.value()
	if err != nil {
		return err
	}
	sum.add(raw)
	it, err := s.rows.item(raw)
	if err == nil && it.UID == "" {
		err = errors.New("no _uid")
	}
	if err != nil {
		if len(r.Odd) < maxOdd {
			r.Odd = append(r.Odd, line(fmt.Sprintf("%s %s/%s on %s (%s): %v", it.Kind, it.Namespace, it.Name, it.Cluster, it.UID, err)))
		}
		return nil
	}
	*into = append(*into, it)
	return nil
}

// maxOdd is how many odd rows are named: enough to find the fault.
const maxOdd = 10

// ignore skips a value that is not read.
func (s *stream) ignore() error {
	_, err := s.value()
	return err
}

// failure returns the error of the answer as a whole, nil when each of its n
// results can be judged alone.
func (a *answer) failure(n int) error {
	whole := len(a.errors) > 0 && a.results == nil && a.values == nil
	if whole {
		return a.errors[0].classify()
	}
	if !a.data {
		return &Error{Kind: KindMalformed, Detail: "neither data nor errors"}
	}
	if n != len(a.results) {
		return &Error{Kind: KindMalformed, Detail: fmt.Sprintf("%d results for %d inputs", len(a.results), n)}
	}
	for _, e := range a.errors {
		if e.index() < 0 {
			return e.classify()
		}
	}
	return nil
}

// of returns the error of result i: what the server reports of it, or what shows
// that it is not all there.
func (a *answer) of(i int) error {
	for _, e := range a.errors {
		if e.index() == i {
			return e.classify()
		}
	}
	r := &a.results[i]
	switch {
	case r.Digest.Items.Rows < 0:
		return &Error{Kind: KindIncomplete, Detail: "items is null without an error"}
	case r.Count < 0:
		return &Error{Kind: KindIncomplete, Detail: "count is missing without an error"}
	case r.Count != r.Digest.Items.Rows:
		return &Error{Kind: KindIncomplete, Detail: fmt.Sprintf("%d of %d items", r.Digest.Items.Rows, r.Count)}
	}
	return nil
}

// index returns the result that the error belongs to, -1 for the whole answer.
func (e *graphQLError) index() int {
	if len(e.Path) < 2 {
		return -1
	}
	n, ok := e.Path[1].(float64)
	if !ok || n < 0 || n != float64(int(n)) {
		return -1
	}
	return int(n)
}

// classify knows the messages by what stays the same in them.
func (e *graphQLError) classify() error {
	kind := KindGraphQL
	switch m := e.Message; {
	case strings.HasPrefix(e.Extensions.Code, "GRAPHQL_"):
		kind = KindQuery
	case strings.Contains(m, "SQLSTATE"):
		kind = KindStatement
	case strings.Contains(m, "failed to connect"):
		kind = KindDatabase
	case strings.Contains(m, "resolving user's access"), strings.Contains(m, "refreshing user permissions"):
		kind = KindAccess
	}
	return &Error{Kind: kind, Detail: line(e.Message)}
}
