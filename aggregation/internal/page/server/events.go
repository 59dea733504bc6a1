// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/live"
)

// wants returns which changes a view is about. A change without a name is of the
// Applications of its namespace.
func wants(view string) (func(types.NamespacedName) bool, error) {
	kind, rest, _ := strings.Cut(view, ":")
	switch kind {
	case "fleet", "errors", "cluster":
		return func(types.NamespacedName) bool { return true }, nil
	case "set":
		namespace, name, ok := strings.Cut(rest, "/")
		if ok {
			return func(key types.NamespacedName) bool {
				return key.Namespace == namespace && (key.Name == name || key.Name == "")
			}, nil
		}
	}
	return nil, wrongQuery(fmt.Errorf("view=%.40q: want fleet, errors, cluster:NAME or set:NAMESPACE/NAME", view))
}

// currentRights are what an open stream may report, while they are reviewed again.
type currentRights struct {
	atomic.Pointer[rights]
	// outdated: something has changed in a namespace that was not there at the last review.
	outdated atomic.Bool
}

func (c *currentRights) allow(namespace string) bool {
	now := c.Load()
	if now.allowed(namespace) {
		return true
	}
	if _, reviewed := slices.BinarySearch(now.namespaces, namespace); !reviewed {
		c.outdated.Store(true)
	}
	return false
}

// replace stores new rights. It reports whether one that was there is gone, and whether one
// came.
func (c *currentRights) replace(now *rights) (lost, gained bool) {
	before := c.Swap(now)
	for _, n := range now.namespaces {
		lost = lost || before.allowed(n) && !now.allowed(n)
		gained = gained || !before.allowed(n) && now.allowed(n)
	}
	return lost, gained
}

// events notifies an open page when to refresh.
func (s *Server) events(v *visit) {
	about, err := wants(v.r.URL.Query().Get("view"))
	if err != nil {
		s.refuse(v, err)
		return
	}
	current := &currentRights{}
	first := v.rights // the visit's change while others read these
	current.Store(&first)
	stream, err := s.hub.Open(v.viewer.Name, func(key types.NamespacedName) bool { return about(key) && current.allow(key.Namespace) })
	if errors.Is(err, live.ErrTooMany) {
		v.w.Header().Set("Retry-After", "15")
		writeError(v.w, http.StatusTooManyRequests, err)
		return
	}
	if err != nil {
		s.refuse(v, fmt.Errorf("open a stream: %w", err))
		return
	}
	defer stream.Close()
	out := http.NewResponseController(v.w)
	if err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{})); err != nil {
		s.refuse(v, fmt.Errorf("open a stream: %w", err))
		return
	}
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no")
	send := func(text string) bool {
		_, err := v.w.Write([]byte(text))
		return err == nil && out.Flush() == nil
	}
	// What changed after the page was read, or while its last stream was broken, is in no event.
	if send(fmt.Sprintf("retry: 2000\n\nevent: changed\ndata: {\"version\":%d}\n\n", s.hub.Moment())) {
		s.stream(v, stream, current, send)
	}
}

func (s *Server) stream(v *visit, stream *live.Stream, current *currentRights, send func(string) bool) {
	recheck := time.NewTicker(s.recheck)
	defer recheck.Stop()
	for {
		ctx, cancel := context.WithTimeout(v.r.Context(), s.ping)
		version, err := stream.Next(ctx)
		cancel()
		due := current.outdated.Swap(false)
		select {
		case <-recheck.C:
			due = true
		default:
		}
		if due {
			allowed, gained := s.review(v, current)
			if !allowed {
				send("event: logout\ndata: {}\n\n")
				return
			}
			if gained {
				version, err = s.hub.Moment(), nil
			}
		}
		switch {
		case v.r.Context().Err() != nil:
			return
		case err != nil:
			if !send(": nothing new\n\n") {
				return
			}
		case !send(fmt.Sprintf("event: changed\ndata: {\"version\":%d}\n\n", version)):
			return
		}
	}
}

// review authenticates and authorizes an open stream again; allowed is false when it may not
// go on, gained true when there is more to see. An API server that does not answer ends a
// stream, too: the page then requests what is new by itself and shows the answer.
func (s *Server) review(v *visit, current *currentRights) (allowed, gained bool) {
	before := v.viewer.Name
	if err := s.gate.identify(v.r.Context(), v); err != nil || v.viewer.Name != before {
		return false, false
	}
	if err := s.gate.authorize(v.r.Context(), v); err != nil {
		return false, false
	}
	now := v.rights
	lost, gained := current.replace(&now)
	return !lost, gained
}
