// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

//go:embed schema.graphqls
var schemaText string

// schema is the part of the service's schema that the product uses. It validates every query.
var schema = gqlparser.MustLoadSchema(&ast.Source{Name: "schema.graphqls", Input: schemaText})

var (
	errAccess      = errors.New("unable to resolve query because of error while resolving user's access")
	errStatement   = errors.New("ERROR: canceling statement due to statement timeout (SQLSTATE 57014)")
	errUnreachable = errors.New("failed to connect to `host=search-postgres user=search_api_ro database=search`: " +
		"dial error (connect: connection refused)")
)

// question is a GraphQL request.
type question struct {
	Query         string
	OperationName string
	Variables     map[string]any
}

// execution answers one question. A failed part is null, and its error is in errors next to the data.
type execution struct {
	view   table.View
	faults Faults
	denied error // error of the review of the caller's access

	variables map[string]any
	errors    gqlerror.List
	out       bytes.Buffer
}

// answer writes the answer to q.
func (e *execution) answer(w http.ResponseWriter, q question) {
	w.Header().Set("Content-Type", "application/json")
	document, refused := gqlparser.LoadQueryWithRules(schema, q.Query, nil)
	var operation *ast.OperationDefinition
	if len(refused) == 0 {
		if operation = document.Operations.ForName(q.OperationName); operation == nil {
			refused = gqlerror.List{gqlerror.Errorf("operation %s not found", q.OperationName)}
		} else if values, err := validator.VariableValues(schema, operation, q.Variables); err != nil {
			refused = gqlerror.List{gqlerror.Wrap(err)}
		} else {
			e.variables = values
		}
	}
	if len(refused) > 0 {
		for _, err := range refused {
			err.Extensions = map[string]any{"code": "GRAPHQL_VALIDATION_FAILED"}
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write(table.Encode(map[string]any{"errors": refused, "data": nil}))
		return
	}
	e.object(operation.SelectionSet, nil, e.query)
	_, _ = io.WriteString(w, "{") // the client may have disconnected
	if len(e.errors) > 0 {
		_, _ = fmt.Fprintf(w, `"errors":%s,`, table.Encode(e.errors))
	}
	_, _ = fmt.Fprintf(w, `"data":%s}`, e.out.Bytes())
}

// object writes the fields of an object in the order of the query. It ignores fragments, which the product
// does not send.
func (e *execution) object(fields ast.SelectionSet, path ast.Path, write func(*ast.Field, ast.Path)) {
	e.list('{', '}', len(fields), func(i int) {
		if field, ok := fields[i].(*ast.Field); ok {
			fmt.Fprintf(&e.out, "%q:", field.Alias)
			write(field, append(path[:len(path):len(path)], ast.PathName(field.Alias)))
		}
	})
}

func (e *execution) list(open, end byte, n int, write func(i int)) {
	e.out.WriteByte(open)
	for i := range n {
		if i > 0 {
			e.out.WriteByte(',')
		}
		write(i)
	}
	e.out.WriteByte(end)
}

// value writes a value, or null for an error.
func (e *execution) value(path ast.Path, value any, err error) {
	if err != nil {
		e.errors = append(e.errors, gqlerror.WrapPath(path, err))
		value = nil
	}
	e.out.Write(table.Encode(value))
}

func (e *execution) items(items []table.Item) {
	e.list('[', ']', len(items), func(i int) { e.out.Write(items[i]) })
}

// query writes a field of the query.
func (e *execution) query(field *ast.Field, path ast.Path) {
	var arguments struct {
		Input    []table.Query // of search
		Property string        // of searchComplete
		Query    table.Query
		Limit    int
	}
	err := json.Unmarshal(table.Encode(field.ArgumentMap(e.variables)), &arguments)
	if err = errors.Join(err, e.denied); err != nil {
		e.value(path, nil, err)
		return
	}
	if field.Name == "searchComplete" {
		values, err := e.view.Complete(arguments.Property, arguments.Query, arguments.Limit)
		e.value(path, append([]string{}, values...), errors.Join(err, e.faults.statement()))
		return
	}
	e.list('[', ']', len(arguments.Input), func(i int) {
		r := &result{execution: e, query: arguments.Input[i]}
		e.object(field.SelectionSet, append(path[:len(path):len(path)], ast.PathIndex(i)), r.write)
	})
}

// result answers one input of a search. Items and related items share one statement, and count has a separate
// one.
type result struct {
	*execution
	query table.Query
	found *table.Found
	err   error
}

func (r *result) write(field *ast.Field, path ast.Path) {
	if field.Name == "count" {
		count, err := r.view.Count(r.query)
		if fault := r.faults.statement(); fault != nil {
			err = fault
		}
		r.value(path, count, err)
		return
	}
	found, err := r.find()
	switch {
	case err != nil:
		r.value(path, nil, err)
	case field.Name == "items":
		r.items(found.Items())
	case found.Empty():
		r.value(path, nil, nil) // related is null without items, and an empty list if no item has relations
	default:
		related := r.related(found)
		r.list('[', ']', len(related), func(i int) {
			r.object(field.SelectionSet, append(path[:len(path):len(path)], ast.PathIndex(i)), func(f *ast.Field, path ast.Path) {
				switch f.Name {
				case "kind":
					r.value(path, related[i].Kind, nil)
				case "count":
					r.value(path, len(related[i].Items), nil)
				default:
					r.items(related[i].Items)
				}
			})
		})
	}
}

// related returns the rows related to the items, except the rows that a fault removes.
func (r *result) related(found table.Found) (kept []table.Related) {
	for _, group := range r.view.Related(r.query, found) {
		spared := r.faults.NodesKept && group.Kind == "Cluster"
		if r.faults.CutRelated && !spared {
			group.Items = group.Items[:int(float64(len(group.Items))*r.faults.RelatedKept)]
		}
		if len(group.Items) > 0 {
			kept = append(kept, group)
		}
	}
	return kept
}

func (r *result) find() (table.Found, error) {
	if r.found == nil {
		found, err := r.view.Find(r.query)
		if r.faults.CutItems {
			found = found.Cut(r.faults.ItemsKept)
		}
		if fault := r.faults.statement(); fault != nil {
			err = fault
		}
		r.found, r.err = &found, err
	}
	return *r.found, r.err
}

// statement returns the fault that makes every statement of a request fail before its first row.
func (f Faults) statement() error {
	switch {
	case f.DatabaseGone:
		return errUnreachable
	case f.StatementTimeout:
		return errStatement
	}
	return nil
}
