// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live notifies open pages that something changed. It carries marks, no data: a
// page then asks for what it shows.
package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Limits of open streams.
const (
	MaxStreams     = 64
	MaxUserStreams = 8
)

// interval is the least time between two marks of a stream, for all streams at the
// same moment, so that what they then ask for is put together once.
const interval = time.Second

// ErrTooMany is what a stream beyond the limits gets.
var ErrTooMany = errors.New("too many pages are open")

// Hub passes changes on. It is safe for concurrent use.
type Hub struct {
	interval time.Duration

	mu      sync.Mutex
	version uint64
	last    time.Time
	flush   *time.Timer
	streams map[*Stream]struct{}
	users   map[string]int
	empty   func()
}

// New returns a hub. Empty is called when the last stream ends; nil: nothing is.
func New(empty func()) *Hub {
	return &Hub{interval: interval, streams: map[*Stream]struct{}{}, users: map[string]int{}, empty: empty}
}

// Stream is one open page.
type Stream struct {
	hub   *Hub
	user  string
	wants func(types.NamespacedName) bool
	dirty bool
	mark  chan uint64
}

// Open adds a stream of a user. Wants selects the changes that it gets.
func (h *Hub) Open(user string, wants func(types.NamespacedName) bool) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) >= MaxStreams || h.users[user] >= MaxUserStreams {
		return nil, ErrTooMany
	}
	// What the page has read before may be of the moment before what is about to be sent.
	s := &Stream{hub: h, user: user, wants: wants, mark: make(chan uint64, 1), dirty: h.flush != nil}
	h.streams[s] = struct{}{}
	h.users[user]++
	return s, nil
}

// Close ends a stream.
func (s *Stream) Close() {
	h := s.hub
	h.mu.Lock()
	delete(h.streams, s)
	if h.users[s.user]--; h.users[s.user] == 0 {
		delete(h.users, s.user)
	}
	last := len(h.streams) == 0
	h.mu.Unlock()
	if last && h.empty != nil {
		h.empty()
	}
}

// Streams returns how many pages are open.
func (h *Hub) Streams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

// Moment returns the number of the last change that was sent, or that no stream
// wanted; 0 without a stream. What is read after it has all changes up to that one, and
// streams get those that follow.
func (h *Hub) Moment() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) == 0 {
		return 0
	}
	return h.version
}

// Changed marks the streams that want a change of an ApplicationSet; one without a
// name is of its namespace. Without a stream it costs a lock. It does not block.
func (h *Hub) Changed(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted := false
	for s := range h.streams {
		if s.wants(key) {
			s.dirty, wanted = true, true
		}
	}
	if !wanted {
		h.version++
	}
	if !wanted || h.flush != nil {
		return
	}
	wait := h.interval - time.Since(h.last)
	h.flush = time.AfterFunc(max(0, wait), h.notify)
}

func (h *Hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush, h.last = nil, time.Now()
	h.version++
	for s := range h.streams {
		if !s.dirty {
			continue
		}
		s.dirty = false
		select {
		case s.mark <- h.version:
		default: // the one before has not been taken yet, and says the same
		}
	}
}

// Next returns the number of the next change, waiting for it until ctx ends.
func (s *Stream) Next(ctx context.Context) (uint64, error) {
	select {
	case version := <-s.mark:
		return version, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
