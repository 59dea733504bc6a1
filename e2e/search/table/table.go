// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Table contains rows and their relations. Use [New], because the zero value is not usable.
type Table struct {
	mu    sync.RWMutex
	rows  map[string]*entry
	kinds map[string]map[string]*entry // kind in lower case, and kind_plural
	links map[string][]string          // both directions
	last  int
}

// entry is a row with its precomputed values.
type entry struct {
	Row
	order int
	flat  map[string]string
	item  Item
	hub   bool
	part  string
}

// Edge relates two rows. Its direction has no meaning.
type Edge struct{ From, To string }

// New returns an empty table.
func New() *Table {
	return &Table{
		rows:  map[string]*entry{},
		kinds: map[string]map[string]*entry{},
		links: map[string][]string{},
	}
}

// Put adds rows or replaces rows with the same UID.
func (t *Table) Put(rows ...Row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range rows {
		t.put(row)
	}
}

// Delete removes rows with their relations.
func (t *Table) Delete(uids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, uid := range uids {
		t.delete(uid)
	}
}

// Relate relates rows.
func (t *Table) Relate(edges ...Edge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, edge := range edges {
		t.relate(edge)
	}
}

// Unrelate removes relations and keeps the rows, as when an object leaves its Application without being
// pruned.
func (t *Table) Unrelate(edges ...Edge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, edge := range edges {
		t.unrelate(edge.From, edge.To)
		t.unrelate(edge.To, edge.From)
	}
}

func (t *Table) unrelate(from, to string) {
	t.links[from] = slices.DeleteFunc(t.links[from], func(uid string) bool { return uid == to })
}

// Replace replaces all rows and edges of a part. The caller chooses the name of the part. Unchanged rows keep
// their entries.
func (t *Table) Replace(part string, rows []Row, edges []Edge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := make(map[string]bool, len(rows))
	for _, row := range rows {
		kept[row.UID] = true
		if old, ok := t.rows[row.UID]; !ok || !reflect.DeepEqual(old.Row, row) {
			t.put(row)
		}
		t.rows[row.UID].part = part
	}
	for uid, e := range t.rows {
		if e.part == part {
			delete(t.links, uid)
			if !kept[uid] {
				t.delete(uid)
			}
		}
	}
	for _, edge := range edges {
		t.relate(edge)
	}
}

// Clusters returns the names of all clusters that have a row, sorted.
func (t *Table) Clusters() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := map[string]bool{}
	for _, e := range t.rows {
		names[e.Cluster] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Len returns the number of rows.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.rows)
}

func (t *Table) put(row Row) {
	old, replaced := t.rows[row.UID]
	order := t.last + 1
	if replaced {
		// An updated row keeps its order, so that paging is stable.
		order = old.order
		t.unindex(old)
	} else {
		t.last = order
	}
	flat := row.flat()
	e := &entry{Row: row, order: order, flat: flat, item: Encode(flat), hub: flat[keyHub] != ""}
	t.rows[row.UID] = e
	for _, name := range e.kindNames() {
		if t.kinds[name] == nil {
			t.kinds[name] = map[string]*entry{}
		}
		t.kinds[name][row.UID] = e
	}
}

func (t *Table) delete(uid string) {
	e, ok := t.rows[uid]
	if !ok {
		return
	}
	t.unindex(e)
	delete(t.rows, uid)
	for _, other := range t.links[uid] {
		t.links[other] = slices.DeleteFunc(t.links[other], func(u string) bool { return u == uid })
	}
	delete(t.links, uid)
}

func (t *Table) unindex(e *entry) {
	for _, name := range e.kindNames() {
		delete(t.kinds[name], e.UID)
	}
}

func (t *Table) relate(edge Edge) {
	if edge.From == edge.To {
		return
	}
	if !slices.Contains(t.links[edge.From], edge.To) {
		t.links[edge.From] = append(t.links[edge.From], edge.To)
	}
	if !slices.Contains(t.links[edge.To], edge.From) {
		t.links[edge.To] = append(t.links[edge.To], edge.From)
	}
}

// kindNames returns the keys of the index by kind.
func (e *entry) kindNames() []string {
	return []string{
		keyKind + "=" + strings.ToLower(e.flat[keyKind]),
		keyKindPlural + "=" + e.flat[keyKindPlural],
	}
}
