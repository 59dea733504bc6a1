// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps lets you repeat a randomised test, or run it longer. It is separate from testkit
// because its flags belong only to test binaries with such a test.
package steps

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of the randomised test; 0: another one each time")
	steps = flag.Int("steps", 0, "steps of the randomised test; 0: as many as it has")
)

// Random returns the random source of a test and its number of steps. usual is the default number.
// The test's log has the command to repeat the run.
func Random(t testing.TB, usual int) (r *rand.Rand, n int) {
	t.Helper()
	s, n := *seed, *steps
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	if n == 0 {
		n = usual
	}
	t.Logf("run again with: go test -run ^%s$ -args -seed=%d -steps=%d", t.Name(), s, n)
	return rand.New(rand.NewPCG(s, 0)), n
}
