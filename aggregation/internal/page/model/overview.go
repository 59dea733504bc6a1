// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Overview is what ApplicationSets are together. It never changes, so that all viewers
// of the same ApplicationSets share it until one of them changes.
type Overview struct {
	// Sets are by name.
	Sets  []*Set
	Total Counts
	// Worst are the same ApplicationSets by [CompareSets], Clusters and Groups are theirs.
	Worst    func() []*Set
	Clusters func() []Cluster
	Groups   func() []Group
	// Matrix is the heat map as [Matrix.MarshalBinary] makes it.
	Matrix func() ([]byte, error)
}

func newOverview(sets []*Set) *Overview {
	return &Overview{
		Sets: sets, Total: Total(sets),
		Worst:    sync.OnceValue(func() []*Set { return slices.SortedFunc(slices.Values(sets), CompareSets) }),
		Clusters: sync.OnceValue(func() []Cluster { return Clusters(sets) }),
		Groups:   sync.OnceValue(func() []Group { return Groups(sets) }),
		Matrix: sync.OnceValues(func() ([]byte, error) {
			m, err := NewMatrix(sets)
			if err != nil {
				return nil, err
			}
			return m.MarshalBinary()
		}),
	}
}

// kept is an overview that is remembered, of a moment or later.
type kept struct {
	*Overview
	moment uint64
}

func (k kept) isOf(keys []types.NamespacedName) bool {
	return slices.EqualFunc(k.Sets, keys, func(s *Set, key types.NamespacedName) bool { return s.Key == key })
}
