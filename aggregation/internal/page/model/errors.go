// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unique"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/message"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Said is what an error says, whoever says it. Two with the same text are the same.
type Said struct{ handle unique.Handle[said] }

type said struct{ hash, kind, text string }

// Hash names it in addresses.
func (s Said) Hash() string { return s.handle.Value().hash }

// Type is the condition's.
func (s Said) Type() string { return s.handle.Value().kind }

// Text is the message with a gap for all that differs between Applications.
func (s Said) Text() string { return s.handle.Value().text }

// Warning reports whether it is one, and no error.
func (s Said) Warning() bool { return IsWarning(s.Type()) }

// NewSaid returns what a condition says; names are those that do not matter.
func NewSaid(c v1alpha1.Condition, names ...string) Said {
	text := c.Message
	if c.Type == string(status.ClusterUnreachable) {
		// What was last reported differs, and is not what went wrong.
		text, _, _ = strings.Cut(text, status.LastReport)
		text, _, _ = strings.Cut(text, "; nothing was heard")
	}
	text = message.Generalize(text, names...)
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Type + "\x00" + text))
	return Said{unique.Make(said{hash: strconv.FormatUint(h.Sum64(), 36), kind: c.Type, text: text})}
}

func saidBy(r *merge.Row) []Said {
	id := IdentityOf(r)
	all := make([]Said, 0, len(r.Conditions))
	for _, c := range r.Conditions {
		if s := NewSaid(c, id.Cluster, id.Namespace, id.Name); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Group is an error and who has it.
type Group struct {
	Said
	// Count is of Applications.
	Count, Sets, Clusters int
	// Examples are the first rows, at most [maxExamples].
	Examples []Item
}

const maxExamples = 20

// Groups returns the errors of ApplicationSets, the most frequent first, warnings last.
func Groups(sets []*Set) []Group {
	type gathered struct {
		Group
		clusters map[string]struct{}
		last     *Set
	}
	all := map[Said]*gathered{}
	for _, set := range sets {
		if len(set.said) == 0 {
			continue
		}
		for _, row := range set.Rows {
			for _, s := range set.said[row] {
				g := all[s]
				if g == nil {
					g = &gathered{Group: Group{Said: s}, clusters: map[string]struct{}{}}
					all[s] = g
				}
				g.Count++
				g.clusters[row.Cluster] = struct{}{}
				if g.last != set {
					g.last = set
					g.Sets++
				}
				if len(g.Examples) < maxExamples {
					g.Examples = append(g.Examples, Item{set, row})
				}
			}
		}
	}
	groups := make([]Group, 0, len(all))
	for _, g := range all {
		g.Clusters = len(g.clusters)
		groups = append(groups, g.Group)
	}
	slices.SortFunc(groups, compareGroups)
	return groups
}

func compareGroups(a, b Group) int {
	if a.Warning() != b.Warning() {
		if a.Warning() {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type(), b.Type()), cmp.Compare(a.Text(), b.Text()))
}
