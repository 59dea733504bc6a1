// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"slices"
	"strconv"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// maxRowOperations bounds a patch of single rows; beyond it, or when half of the
// rows change, the whole content is cheaper. The API server refuses 10,000.
const maxRowOperations = 1000

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// diff returns the patch from one content to another, none when they are equal.
// Both have their rows sorted and without doubles.
func diff(have, want *merge.Content) []operation {
	rows := diffRows(have.Rows, want.Rows)
	if len(have.Rows) == 0 != (len(want.Rows) == 0) || len(rows) > maxRowOperations || len(rows) > len(want.Rows)/2+1 {
		return whole(want)
	}
	ops := rows
	switch refs := want.Resources.Refs(); {
	case slices.Equal(have.Resources.Refs(), refs):
	case len(refs) == 0:
		ops = append(ops, operation{Op: "remove", Path: "/statuses/resources"})
	default:
		ops = append(ops, operation{Op: "add", Path: "/statuses/resources", Value: refs})
	}
	if have.Summary != want.Summary {
		ops = append(ops, operation{Op: "add", Path: "/statuses/summary", Value: want.Summary})
	}
	return ops
}

// diffRows walks two sorted lists side by side. Each operation's index counts with
// the operations before it done.
func diffRows(have, want []*merge.Row) []operation {
	var ops []operation
	i, j := 0, 0
	for i < len(have) || j < len(want) {
		if i < len(have) && j < len(want) && have[i] == want[j] {
			i, j = i+1, j+1 // nearly always: nothing about this row happened
			continue
		}
		switch {
		case j == len(want) || i < len(have) && merge.Compare(have[i], want[j]) < 0:
			ops = append(ops, operation{Op: "remove", Path: rowPath(j)})
			i++
		case i == len(have) || merge.Compare(have[i], want[j]) > 0:
			ops = append(ops, operation{Op: "add", Path: rowPath(j), Value: want[j].ClusterCondition})
			j++
		default:
			if !have[i].Equal(want[j]) {
				ops = append(ops, operation{Op: "replace", Path: rowPath(j), Value: want[j].ClusterCondition})
			}
			i++
			j++
		}
		if len(ops) > maxRowOperations {
			return ops
		}
	}
	return ops
}

func rowPath(i int) string { return "/statuses/clusterConditions/" + strconv.Itoa(i) }

// whole returns the patch that replaces all content, whatever it was.
func whole(want *merge.Content) []operation {
	return []operation{{Op: "add", Path: "/statuses", Value: want.Statuses()}}
}
