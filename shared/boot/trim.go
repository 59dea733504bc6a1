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
	// trimEvery is how often the memory is checked.
	trimEvery = 10 * time.Second
	// atRest is how many bytes an idle process allocates between two checks: for renewals of its
	// Lease, and for little else.
	atRest = 1 << 20
	// trimFrom is the smallest number of bytes to return, and trimShare the smallest part of the
	// live memory. Returning memory needs a garbage collection, and Go would run its own soon for
	// much more than that.
	trimFrom  = 6 << 20
	trimShare = 6
)

// memory has statistics of the Go runtime at one time, in bytes.
type memory struct {
	allocated uint64 // since the start
	live      uint64 // in use at the last garbage collection
	objects   uint64 // in use or garbage
	free      uint64 // kept for later allocations
}

// trim returns memory to the system when the process becomes idle, until ctx ends. Go keeps memory
// of a burst as long as nothing else is allocated.
func trim(ctx context.Context) {
	for before := readMemory(); clock.Sleep(ctx, trimEvery); {
		before = trimIfAtRest(before)
	}
}

// trimIfAtRest checks once, and returns the statistics for the next check.
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
