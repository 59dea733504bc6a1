// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is a decoded GraphQL response.
type answer struct {
	errors  []graphQLError
	results []Result // of "searchResult", one for each input, nil if it was null or absent
	values  []string // of "searchComplete"
	data    bool     // "data" was there and not null
}

type graphQLError struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// decode reads a response. A broken one is an error, an odd row is not. The rows may take about room
// bytes of memory.
func decode(body []byte, room int) (*answer, error) {
	return walk(body, &stream{rows: &decoder{strings: map[string]string{}, room: room}})
}

func walk(body []byte, s *stream) (*answer, error) {
	// The decoder reads a bytes.Buffer in place. Rows may repeat a name, and text that is not UTF-8
	// becomes U+FFFD. Neither is a reason to refuse the other rows.
	s.dec = jsontext.NewDecoder(bytes.NewBuffer(body), lenient...)
	a := &answer{}
	err := s.object(func(name string) error {
		switch name {
		case "errors":
			raw, err := s.dec.ReadValue()
			if err != nil {
				return err
			}
			return json.Unmarshal(raw, &a.errors)
		case "data":
			return s.nullable(func() error {
				a.data = true
				return s.object(func(name string) error { return s.data(a, name) })
			})
		}
		return s.dec.SkipValue()
	})
	if err == nil {
		if _, err = s.dec.ReadToken(); errors.Is(err, io.EOF) {
			return a, nil
		} else if err == nil {
			err = errors.New("more than an answer")
		}
	}
	return nil, decodeError(err)
}

// stream walks a response.
type stream struct {
	dec  *jsontext.Decoder
	rows *decoder // nil if rows are not decoded
	sums []Sum    // of the lists that an outline leaves out, in their order
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
				raw, err := s.dec.ReadValue()
				if err == nil && s.rows != nil {
					var v string
					if json.Unmarshal(raw, &v) == nil && v != "" {
						a.values = append(a.values, v)
					}
				}
				return err
			})
		})
	}
	return s.dec.SkipValue()
}

func (s *stream) result(r *Result, name string) error {
	switch name {
	case "count":
		raw, err := s.dec.ReadValue()
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
						return s.dec.SkipValue()
					}
					return s.nullable(func() error {
						return s.list(func() error { return s.row(r, &r.Digest.Related, &r.Related) })
					})
				})
			})
		})
	}
	return s.dec.SkipValue()
}

// row adds a row to a sum and, decoded, to a list.
func (s *stream) row(r *Result, sum *Sum, into *[]Item) error {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return err
	}
	if s.rows == nil && len(s.sums) > 0 && string(raw) == leftOut {
		sum.merge(s.sums[0])
		s.sums = s.sums[1:]
		return nil
	}
	sum.add(raw)
	if s.rows == nil {
		return nil
	}
	it, err := s.rows.item(raw)
	if s.rows.room < 0 {
		return &Error{Kind: KindTooLarge, Status: http.StatusOK, Detail: "the rows of the answer need more memory than allowed"}
	}
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

func (s *stream) nullable(read func() error) error { return nullable(s.dec, read) }

// object calls member for each name of an object. member consumes the value.
func (s *stream) object(member func(name string) error) error {
	return brackets(s.dec, '{', '}', func() error {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		return member(name.String())
	})
}

// list calls element for each element of a list. element consumes it.
func (s *stream) list(element func() error) error { return brackets(s.dec, '[', ']', element) }

// only returns the one result of an answer when it is whole.
func only(a *answer, err error) (*Result, error) {
	switch {
	case err != nil:
		return nil, err
	case len(a.errors) > 0:
		return nil, a.errors[0].classify()
	case !a.data || len(a.results) != 1:
		return nil, &Error{Kind: KindMalformed, Detail: fmt.Sprintf("%d results for one input", len(a.results))}
	}
	r := &a.results[0]
	switch {
	case r.Digest.Items.Rows < 0:
		return nil, &Error{Kind: KindIncomplete, Detail: "items is null without an error"}
	case r.Count < 0:
		return nil, &Error{Kind: KindIncomplete, Detail: "count is missing without an error"}
	case r.Count != r.Digest.Items.Rows:
		return nil, &Error{Kind: KindIncomplete, Detail: fmt.Sprintf("%d of %d items", r.Digest.Items.Rows, r.Count)}
	}
	if len(r.Odd) > 0 {
		r.Digest = Digest{} // it is to be decoded, and logged, each time
	}
	return r, nil
}

// classify recognizes the messages by their constant parts.
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
