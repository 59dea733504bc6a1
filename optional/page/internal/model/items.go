// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Item is one Application on one cluster.
type Item struct {
	Set *Set
	Row *App
}

// ID returns a short identity of the item.
func (i Item) ID() string { return ID(i.Row.Key().String()) }

// ID returns a short hash of a name.
func ID(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return strconv.FormatUint(h.Sum64(), 36)
}

// Items returns the Applications of ApplicationSets. A cluster that is not empty selects those on
// it.
func Items(sets []*Set, cluster string) []Item {
	n := 0
	for _, s := range sets {
		n += len(s.Rows)
	}
	if cluster != "" {
		n = 0
	}
	items := make([]Item, 0, n)
	for _, s := range sets {
		rows := s.Rows
		if cluster != "" {
			rows = s.On(cluster)
		}
		for _, r := range rows {
			items = append(items, Item{s, r})
		}
	}
	return items
}

// contains reports whether a row has a text in one of its names, ignoring case.
func contains(i Item, text string) bool {
	for _, s := range []string{i.Row.Namespace, i.Row.Name, i.Row.Cluster, i.Row.Revision, i.Set.Key.Name} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	for c := range i.Row.Conditions {
		if strings.Contains(strings.ToLower(i.Row.Conditions[c].Message), text) {
			return true
		}
	}
	return false
}
