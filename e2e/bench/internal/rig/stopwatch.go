// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"
)

// Stopwatch measures the time from sending a change until several watches observe it. It identifies
// a change by its revision, which no other object has.
type Stopwatch struct {
	mu      sync.Mutex
	sent    map[string]time.Time
	waiting map[string]map[string]bool // by watch: revisions that it has not observed yet
	took    map[string][]time.Duration // by watch
}

// NewStopwatch returns a stopwatch. places names the watches that have to observe a change.
func NewStopwatch(places ...string) *Stopwatch {
	s := &Stopwatch{sent: map[string]time.Time{}, waiting: map[string]map[string]bool{}, took: map[string][]time.Duration{}}
	for _, place := range places {
		s.waiting[place] = map[string]bool{}
	}
	return s
}

// Start starts the time of a change. The caller sends the change immediately afterwards.
func (s *Stopwatch) Start(revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waiting := range s.waiting {
		waiting[revision] = true
	}
	s.sent[revision] = time.Now()
}

// See records an object that arrived from the watch that place names.
func (s *Stopwatch) See(place string, object json.RawMessage, arrived time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for revision := range s.waiting[place] {
		if bytes.Contains(object, []byte(revision)) {
			delete(s.waiting[place], revision)
			s.took[place] = append(s.took[place], arrived.Sub(s.sent[revision]))
		}
	}
}

// Left returns how many observations are still missing.
func (s *Stopwatch) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, waiting := range s.waiting {
		n += len(waiting)
	}
	return n
}

// Times returns the measured times of the watch that place names.
func (s *Stopwatch) Times(place string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took[place]
}
