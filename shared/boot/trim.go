// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

const (
	// trimEvery is how often is looked whether there is memory to return.
	trimEvery = 10 * time.Second
	// atRest is how many bytes a process at rest allocates between two looks: renewals of
	// its Lease and little else.
	atRest = 1 << 20
	// trimFrom is how many bytes are worth being returned, and trimShare as which part of
	// what lives: finding them takes a collection of garbage, and Go's own is due at not
	// much more.
	trimFrom  = 6 << 20
	trimShare = 6
)

// memory is what the runtime knows of the process's memory at one time, in bytes.
type memory struct {
	allocated uint64 // since the start
	live      uint64 // that the last collection of garbage found in use
	objects   uint64 // in use or garbage
	free      uint64 // kept for what is to come
}

// trim returns memory to the system whenever the process comes to rest, until ctx ends.
// Go keeps some of what a storm needed for as long as nothing is allocated any more.
func trim(ctx context.Context) {
	for before := readMemory(); clock.Sleep(ctx, trimEvery); {
		before = trimIfAtRest(before)
	}
}

// trimIfAtRest looks once, and returns what it saw for the next time.
func trimIfAtRest(before memory) memory {
	now := readMemory()
	if now.isWorthTrimming(before) {
		debug.FreeOSMemory()
	}
	return now
}

func (m memory) isWorthTrimming(before memory) bool {
	kept := m.free
	if m.objects > m.live {
		kept += m.objects - m.live
	}
	return m.allocated-before.allocated <= atRest && kept >= trimFrom && kept >= m.live/trimShare
}

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	return memory{
		allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(), objects: samples[2].Value.Uint64(), free: samples[3].Value.Uint64(),
	}
}
