// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"runtime"
	"testing"
)

func TestIsWorthTrimming(t *testing.T) {
	const mib = 1 << 20
	before := memory{allocated: 100 * mib}
	for name, tc := range map[string]struct {
		reason string
		now    memory
		want   bool
	}{
		"at rest with garbage":     {"nobody else collects it soon", memory{allocated: 100 * mib, live: 30 * mib, objects: 37 * mib}, true},
		"at rest with free memory": {"it is returned slowly, and not all", memory{allocated: 100 * mib, live: 30 * mib, objects: 30 * mib, free: 7 * mib}, true},
		"some of each":             {"the sum counts", memory{allocated: 100 * mib, live: 30 * mib, objects: 34 * mib, free: 4 * mib}, true},
		"hardly at work":           {"a Lease is renewed at rest, too", memory{allocated: 101 * mib, live: 30 * mib, objects: 37 * mib}, true},
		"at work":                  {"it will want the memory again", memory{allocated: 102 * mib, live: 30 * mib, objects: 37 * mib}, false},
		"little":                   {"a collection costs more", memory{allocated: 100 * mib, live: 30 * mib, objects: 35 * mib}, false},
		"little for a large heap":  {"a collection costs what lives", memory{allocated: 100 * mib, live: 90 * mib, objects: 100 * mib}, false},
		"just collected":           {"less is in use than was when the collection began", memory{allocated: 100 * mib, live: 90 * mib, objects: 80 * mib, free: mib}, false},
	} {
		if got := tc.now.isWorthTrimming(before); got != tc.want {
			t.Errorf("%s: %s: %v, want %v", name, tc.reason, got, tc.want)
		}
	}
}

// trimIfAtRest returns unused memory to the system, and does not try again.
func TestTrimIfAtRest_returnsMemory(t *testing.T) {
	const size = 64 << 20
	before := func() memory {
		large := make([]byte, size)
		for i := range large {
			large[i] = 1 // the system allocates a page when it is written
		}
		defer runtime.KeepAlive(large)
		return readMemory()
	}()
	runtime.GC() // as the next automatic collection would
	if now := readMemory(); !now.isWorthTrimming(before) {
		t.Fatalf("nothing to return: %+v", now)
	}
	before = trimIfAtRest(before)
	after := readMemory()
	if kept := after.objects + after.free; kept > before.objects+before.free-size {
		t.Errorf("%d MiB before, %d after", (before.objects+before.free)>>20, kept>>20)
	}
	if after.isWorthTrimming(before) {
		t.Errorf("once more: %+v", after)
	}
}
