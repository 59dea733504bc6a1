// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatrix(t *testing.T) {
	m, err := NewMatrix([]*Set{
		setOf("a", "c1 Degraded OutOfSync", "c3 Healthy Synced Running"),
		setOf("b", "c2 Unknown Unknown  ClusterUnreachableWarning: gone"),
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sets, clusters, names := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	var said Matrix
	if err := json.Unmarshal(data[12:12+names], &said); err != nil || sets != 2 || clusters != 3 {
		t.Fatalf("%d × %d, %v", sets, clusters, err)
	}
	if diff := cmp.Diff([][]string{{"argocd/a", "argocd/b"}, {"c1", "c2", "c3"}}, [][]string{said.Sets, said.Clusters}); diff != "" {
		t.Error(diff)
	}
	want := []byte{0, NoCell, NoCell, 2 | 1<<syncShift | staleCell, 5 | 2<<syncShift | runningCell, NoCell}
	if got := data[12+names:]; !bytes.Equal(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
}

// If a set has several Applications on one cluster, the cell shows the worst one.
func TestNewMatrix_showsTheWorstOfACell(t *testing.T) {
	rows := make([]*App, 0, 4)
	for name, health := range map[string]string{"a": "Healthy", "b": "Degraded", "c": "Missing"} {
		rows = append(rows, &App{AppFields: AppFields{Namespace: "n", Name: name, Cluster: "c", Health: health, Sync: "Synced"}})
	}
	rows = append(rows, &App{AppFields: AppFields{Namespace: "n", Name: "of-no-cluster", Health: "Unknown", Sync: "Unknown"}})
	if m, err := NewMatrix([]*Set{newSet(key("s"), rows, 1, nil)}); err != nil || len(m.Cells) != 1 || m.Cells[0]&7 != 0 {
		t.Errorf("cells %v, error %v", m.Cells, err)
	}
}

// The size of a matrix is limited, because viewers with different permissions each have one.
func TestNewMatrix_hasABound(t *testing.T) {
	sparse := func(n int) (sets []*Set) { // n sets with one Application each, on n clusters
		for i := range n {
			name := fmt.Sprintf("%05d", i)
			sets = append(sets, setOf(name, "c"+name+" Healthy Synced"))
		}
		return sets
	}
	if m, err := NewMatrix(sparse(1000)); err != nil || len(m.Cells) != 1_000_000 {
		t.Errorf("%d cells, error %v", len(m.Cells), err)
	}
	if m, err := NewMatrix(sparse(1500)); !errors.Is(err, ErrTooManyCells) {
		t.Errorf("%d cells, error %v", len(m.Cells), err)
	}
}
