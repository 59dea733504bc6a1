// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Matrix is the heat map: a cell for each ApplicationSet on each cluster.
//
// Its binary form begins with three big-endian uint32: the number of sets, the number of clusters, and the length of
// the names. The names follow as JSON, then one byte for each cell, cluster by cluster. Bits 0-2 of a cell are the
// health and bits 3-4 the sync status, as indexes of [Healths] and [Syncs]. Bit 5 is set while an operation is
// running, and bit 6 if the cluster does not report. [NoCell] means that no Application exists.
type Matrix struct {
	Sets     []string `json:"sets"` // namespace/name
	Clusters []string `json:"clusters"`
	Cells    []byte   `json:"-"`
}

// These are the parts of a cell.
const (
	NoCell      = 0xFF
	syncShift   = 3
	runningCell = 1 << 5
	staleCell   = 1 << 6
)

// maxCells is the highest number of cells of a heat map. Each cell is a byte in memory, for each
// group of viewers with the same rights.
const maxCells = 2 << 20

// ErrTooManyCells means that the heat map would be too large.
var ErrTooManyCells = fmt.Errorf("more than %d cells, one for each ApplicationSet on each cluster, are no map", maxCells)

// NewMatrix returns the heat map of ApplicationSets, with both sides sorted by name, or
// [ErrTooManyCells]. If a set has several Applications on one cluster, the cell shows the worst
// one.
func NewMatrix(sets []*Set) (Matrix, error) {
	m := Matrix{Sets: []string{}}
	clusters := map[string]struct{}{}
	for _, s := range sets {
		m.Sets = append(m.Sets, s.Key.String())
		for _, r := range s.Rows {
			if r.Cluster != "" { // it names no cluster
				clusters[r.Cluster] = struct{}{}
			}
		}
	}
	m.Clusters = slices.AppendSeq([]string{}, maps.Keys(clusters))
	slices.Sort(m.Clusters)
	if len(m.Sets)*len(m.Clusters) > maxCells {
		return Matrix{}, ErrTooManyCells
	}
	m.Cells = make([]byte, len(m.Sets)*len(m.Clusters))
	for i := range m.Cells {
		m.Cells[i] = NoCell
	}
	for column, s := range sets {
		worst, at := 0, 0
		for i, r := range s.Rows {
			if r.Cluster == "" {
				continue
			}
			for m.Clusters[at] != r.Cluster { // both are sorted
				at++
			}
			if same := i > 0 && s.Rows[i-1].Cluster == r.Cluster; same && rank(r) >= worst {
				continue
			}
			worst = rank(r)
			m.Cells[at*len(m.Sets)+column] = cell(Item{s, r})
		}
	}
	return m, nil
}

func cell(i Item) byte {
	c := position(Healths, i.Row.Health) | position(Syncs, i.Row.Sync)<<syncShift
	if Running(i.Row) {
		c |= runningCell
	}
	if i.Row.Stale {
		c |= staleCell
	}
	return byte(c & 0x7F) // seven bits by construction
}

// MarshalBinary returns the binary form of the heat map.
func (m Matrix) MarshalBinary() ([]byte, error) {
	names, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the names of the heat map: %w", err)
	}
	data := make([]byte, 0, 12+len(names)+len(m.Cells))
	for _, n := range []int{len(m.Sets), len(m.Clusters), len(names)} {
		data = binary.BigEndian.AppendUint32(data, uint32(n)) //nolint:gosec // lengths of slices in memory, far below 2^32
	}
	return append(append(data, names...), m.Cells...), nil
}
