// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"sync"
)

// Overview is what ApplicationSets are together. It never changes, so that everybody who
// sees the same ApplicationSets shares it until one of them changes.
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
		Matrix:   sync.OnceValues(func() ([]byte, error) { return NewMatrix(sets).MarshalBinary() }),
	}
}

// maxOverviews is how many are remembered: one for each group of viewers with other rights.
const maxOverviews = 8

// Overview returns what the ApplicationSets in the namespaces that are allowed are together.
func (f *Fleet) Overview(allowed func(namespace string) bool) *Overview {
	sets := f.Sets(allowed)
	f.build.Lock()
	defer f.build.Unlock()
	for _, o := range f.overviews {
		if slices.Equal(o.Sets, sets) {
			return o
		}
	}
	o := newOverview(sets)
	f.overviews = append(f.overviews, o)
	if len(f.overviews) > maxOverviews {
		f.overviews = slices.Delete(f.overviews, 0, 1)
	}
	return o
}
