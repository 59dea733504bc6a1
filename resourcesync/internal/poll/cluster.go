// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const (
	// maxKnown limits the data that is kept of all clusters, by its bytes in reports. Memory needs
	// about as many. All files together may be larger, because of their lists of unread clusters.
	maxKnown = 40 << 20
	// maxCluster limits the data that is kept of one cluster.
	maxCluster = 4 << 20
)

// clusterState is the memory of one managed cluster.
type clusterState struct {
	translate.Cluster               // the content of its answers, and held rows in addition
	bytes             int           // that its Applications take
	rows              int           // of these, all but the lists of resources
	leftOut           translate.Cut // the parts of them that did not fit
	readAt            time.Time     // when its last good answer was requested
	latency           time.Duration // of that answer
	answer            *answer       // the source of all of it, or nil to decode the next answer
	unread            bool          // it existed at the first poll and has not been read since
	lackingSince      time.Time     // since when relations may have failed in its first answers
}

// answer is one about a batch that was taken over as a whole. The same answer once more
// changes nothing but the time when it was last true.
type answer struct {
	clusters []string
	digest   search.Digest
}

// state is the memory of all managed clusters. It does no input or output, and its caller
// serializes the calls.
type state struct {
	interval time.Duration
	clusters map[string]*clusterState
	dirty    map[intermediate.Key]bool // reports that may differ from their files
	listed   bool                      // the clusters of the first poll are in
	lists    lists                     // the resources of all Applications
	rows     int                       // bytes of all but the lists
	limit    int                       // of all together, in bytes
}

func newState(interval time.Duration) *state {
	return &state{
		interval: interval, clusters: map[string]*clusterState{}, dirty: map[intermediate.Key]bool{},
		lists: newLists(), limit: maxKnown,
	}
}

func (s *state) markDirty(apps []translate.Application) {
	for i := range apps {
		s.dirty[apps[i].Set] = true
	}
}
