// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// decode reads a response as a stream: it holds one row at a time besides what it
// returns. A broken stream is an error, an odd row is not.
func decode(r io.Reader) (*answer, error) {
	s := &stream{json: json.NewDecoder(r), rows: newDecoder()}
	a := &answer{}
	err := s.object(func(key string) error {
		switch key {
		case "errors":
			return s.json.Decode(&a.errors)
		case "data":
			return s.nullable(func() error { a.data = true; return s.object(func(key string) error { return s.data(a, key) }) })
		}
		return s.ignore()
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.json.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the answer")
	}
	return a, nil
}

// stream walks a response token by token.
type stream struct {
	json *json.Decoder
	rows *decoder
	raw  json.RawMessage // the row in hand; reused
	peek json.Token      // a token that nullable has taken already
}

func (s *stream) data(a *answer, key string) error {
	switch key {
	case "searchResult":
		a.results = nil
		return s.nullable(func() error {
			a.results = []Result{}
			return s.list(func() error {
				result := Result{Count: -1, items: -1}
				err := s.nullable(func() error { return s.object(func(key string) error { return s.result(&result, key) }) })
				a.results = append(a.results, result)
				return err
			})
		})
	case "searchComplete":
		return s.nullable(func() error {
			return s.list(func() error {
				if err := s.json.Decode(&s.raw); err != nil {
					return err
				}
				if v, err := s.rows.text(s.raw); err == nil && v != "" {
					a.values = append(a.values, v)
				}
				return nil
			})
		})
	}
	return s.ignore()
}

func (s *stream) result(r *Result, key string) error {
	switch key {
	case "count":
		if err := s.json.Decode(&s.raw); err != nil {
			return err
		}
		if n, err := strconv.Atoi(string(s.raw)); err == nil {
			r.Count = n
		}
		return nil
	case "items":
		return s.nullable(func() error {
			r.items = 0
			return s.list(func() error { r.items++; return s.row(r, &r.Items) })
		})
	case "related":
		return s.nullable(func() error {
			return s.list(func() error {
				return s.object(func(key string) error {
					if key != "items" {
						return s.ignore()
					}
					return s.nullable(func() error { return s.list(func() error { return s.row(r, &r.Related) }) })
				})
			})
		})
	}
	return s.ignore()
}

func (s *stream) row(r *Result, into *[]Item) error {
	if err := s.json.Decode(&s.raw); err != nil {
		return err
	}
	it, err := s.rows.item(s.raw)
	if err == nil && it.UID == "" {
		err = errors.New("no _uid")
	}
	if err != nil {
		if len(r.Odd) < 10 { // enough to find the fault, and bounded
			r.Odd = append(r.Odd, line(fmt.Sprintf("%s %s/%s on %s (%s): %v", it.Kind, it.Namespace, it.Name, it.Cluster, it.UID, err)))
		}
		return nil
	}
	*into = append(*into, it)
	return nil
}

// ignore skips a value that nobody reads.
func (s *stream) ignore() error { return s.json.Decode(&s.raw) }

func (s *stream) token() (json.Token, error) {
	if t := s.peek; t != nil {
		s.peek = nil
		return t, nil
	}
	return s.json.Token()
}

// nullable calls read unless the value is null.
func (s *stream) nullable(read func() error) error {
	t, err := s.json.Token()
	if err != nil || t == nil {
		return err
	}
	s.peek = t
	return read()
}

func (s *stream) object(member func(key string) error) error {
	return s.brackets('{', func() error {
		key, err := s.json.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("%v where a name belongs", key)
		}
		return member(name)
	})
}

func (s *stream) list(element func() error) error { return s.brackets('[', element) }

func (s *stream) brackets(open json.Delim, each func() error) error {
	t, err := s.token()
	if err != nil {
		return err
	}
	if t != open {
		return fmt.Errorf("%v where %v belongs", line(fmt.Sprint(t)), open)
	}
	for s.json.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = s.json.Token() // the closing bracket, or why there is none
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
	case r.items < 0:
		return &Error{Kind: KindIncomplete, Detail: "items is null without an error"}
	case r.Count < 0:
		return &Error{Kind: KindIncomplete, Detail: "count is missing without an error"}
	case r.Count != r.items:
		return &Error{Kind: KindIncomplete, Detail: fmt.Sprintf("%d of %d items", r.items, r.Count)}
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
