// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand/v2"
	"strings"
)

// Related holds the related rows of one kind.
type Related struct {
	Kind  string
	Items []Item
}

// levels returns how far the service follows relations. It is three steps if a filter has the value
// "Application", which also connects Applications that share an object. Otherwise it is one step.
func (q Query) levels() int {
	for _, filter := range q.Filters {
		for _, value := range filter.Values {
			if value != nil && strings.EqualFold(*value, "Application") {
				return 3
			}
		}
	}
	return 1
}

// Related returns the rows related to the found rows, by kind. Each has the UIDs of the found rows to which
// it is related. The limit applies to their total.
func (v View) Related(q Query, found Found) []Related {
	v.table.mu.RLock()
	defer v.table.mu.RUnlock()
	walk := walk{view: v, searched: make(map[string]bool, len(found.rows)), of: map[string][]string{}}
	for _, e := range found.rows {
		walk.searched[e.UID] = true
	}
	levels := q.levels()
	for _, e := range found.rows {
		walk.from(e, levels)
	}
	return walk.collect(q)
}

// walk collects related rows.
type walk struct {
	view     View
	searched map[string]bool
	reached  []*entry
	of       map[string][]string // related UID -> UIDs of the searched rows
}

// from follows the relations of one row. If it has any, from adds the node of its cluster.
func (w *walk) from(start *entry, levels int) {
	seen := map[string]bool{start.UID: true}
	step := []string{start.UID}
	for range levels {
		var next []string
		for _, uid := range step {
			for _, other := range w.view.table.links[uid] {
				if seen[other] {
					continue
				}
				seen[other] = true
				next = append(next, other)
				w.add(other, start.UID)
			}
		}
		step = next
	}
	if len(seen) > 1 {
		w.add(ClusterUID(start.Cluster), start.UID)
	}
}

func (w *walk) add(uid, of string) {
	e, ok := w.view.table.rows[uid]
	if !ok || w.searched[uid] || !w.view.sees(e) {
		return
	}
	if _, again := w.of[uid]; !again {
		w.reached = append(w.reached, e)
	}
	w.of[uid] = append(w.of[uid], of)
}

// collect groups the related rows by kind, within the query's limit.
func (w *walk) collect(q Query) []Related {
	related := []Related{}
	index := map[string]int{}
	limit := q.limit()
	for _, e := range w.reached {
		kind := e.flat[keyKind]
		if limit == 0 {
			break
		}
		limit--
		at, ok := index[kind]
		if !ok {
			at = len(related)
			index[kind] = at
			related = append(related, Related{Kind: kind})
		}
		related[at].Items = append(related[at].Items, e.item.withRelated(w.of[e.UID]))
	}
	// The service collects kinds in a map, so their order differs each time.
	rand.Shuffle(len(related), func(i, j int) { related[i], related[j] = related[j], related[i] })
	return related
}
