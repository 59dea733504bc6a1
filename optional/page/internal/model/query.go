// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// These are the orders of a list of Applications.
const (
	SortWorst    = "worst"
	SortCluster  = "cluster"
	SortName     = "name"
	SortStarted  = "started"
	SortRevision = "revision"
)

// Sorts are all orders. The first is the default.
var Sorts = []string{SortWorst, SortCluster, SortName, SortStarted, SortRevision}

// These are the bounds of a query.
const (
	DefaultSize = 100
	MaxSize     = 500
	maxText     = 200
	maxPage     = 1_000_000
)

// Query is the query part of an address. The zero value of a filter selects everything.
type Query struct {
	Health, Sync, Phase, Text string
	// Error is the hash of a cause.
	Error string
	// Revision is a complete revision.
	Revision string
	Sort     string
	// Page begins at 1.
	Page, Size int
}

// ParseQuery parses a query. The error names the parameter and its valid values.
func ParseQuery(v url.Values) (Query, error) {
	q := Query{
		Health: v.Get("health"), Sync: v.Get("sync"), Phase: v.Get("phase"), Text: strings.TrimSpace(v.Get("q")),
		Error: v.Get("error"), Revision: v.Get("revision"), Sort: v.Get("sort"),
	}
	if q.Sort == "" {
		q.Sort = SortWorst
	}
	var page, size error
	q.Page, page = number(v, "page", 1, maxPage)
	q.Size, size = number(v, "size", DefaultSize, MaxSize)
	return q, errors.Join(
		known("health", q.Health, Healths), known("sync", q.Sync, Syncs), known("phase", q.Phase, Phases), known("sort", q.Sort, Sorts),
		short("q", q.Text), short("error", q.Error), short("revision", q.Revision), page, size,
	)
}

func known(name, value string, values []string) error {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("%s=%s: want %s", name, quote(value), strings.Join(values, ", "))
}

func short(name, value string) error {
	if len(value) <= maxText {
		return nil
	}
	return fmt.Errorf("%s: want at most %d bytes", name, maxText)
}

func number(v url.Values, name string, otherwise, most int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return otherwise, fmt.Errorf("%s=%s: want a number from 1 to %d", name, quote(text), most)
	}
	return n, nil
}

func quote(value string) string {
	if len(value) > 40 {
		value = value[:40] + "…"
	}
	return strconv.Quote(value)
}

// Values returns the query part of an address, without defaults.
func (q Query) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"health": q.Health, "sync": q.Sync, "phase": q.Phase, "q": q.Text, "error": q.Error, "revision": q.Revision} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Sort != "" && q.Sort != SortWorst {
		v.Set("sort", q.Sort)
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if q.Size != 0 && q.Size != DefaultSize {
		v.Set("size", strconv.Itoa(q.Size))
	}
	return v
}

// Page is a part of a list.
type Page struct {
	// Number is the number of the page, from 1. Last is the number of the last page.
	Number, Last int
	// From and To are the positions of the first and last item, from 1. Total is the size of the
	// list.
	From, To, Total int
	// Beyond is true if a page after the last one was requested.
	Beyond bool
}

// Slice returns the page of a query among total items. It has the items from From-1 up to To.
func Slice(total int, q Query) Page {
	p := Page{Number: q.Page, Last: max(1, (total+q.Size-1)/q.Size), Total: total}
	if p.Number > p.Last {
		p.Number, p.Beyond = p.Last, true
	}
	p.To = min(total, p.Number*q.Size)
	p.From = min(p.To, (p.Number-1)*q.Size+1)
	return p
}
