// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"
	"time"
)

const (
	// patience bounds a wait that ought to end: the longest is for 30,000 ManifestWorks.
	patience = 10 * time.Minute
	// silence is how long the product writes nothing before a fleet is idle. Once nothing
	// changes any more, no report is held back for as long.
	silence = 4 * time.Second
)

// failure is what ends a phase.
type failure struct{ error }

// must ends the phase when err is one. Only the goroutine of the phase may call it.
func must(err error) {
	if err != nil {
		panic(failure{err}) //nolint:forbidigo // [attempt] returns it
	}
}

// get returns a value, or ends the phase.
func get[T any](value T, err error) T {
	must(err)
	return value
}

// attempt runs a phase and returns the error that ended it.
func attempt(run func()) (err error) {
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case failure:
			err = ended.error
		default:
			panic(ended) //nolint:forbidigo // it is another one's
		}
	}()
	run()
	return nil
}

// throughput is how much was done in how long.
type throughput struct {
	done int
	took time.Duration
}

func (p *throughput) add(done int, took time.Duration) {
	p.done += done
	p.took += took
}

// perSecond returns the rate, 0 when nothing was done.
func (p throughput) perSecond() float64 {
	if p.took <= 0 {
		return 0
	}
	return float64(p.done) / p.took.Seconds()
}

// median returns the middle one of a few durations.
func median(durations []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(durations))[len(durations)/2]
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
