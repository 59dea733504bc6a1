// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/pagetest"
)

// stream opens an event stream and returns its lines.
func (w *world) stream(path, token string) <-chan string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.http.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := w.http.Client().Do(r) //nolint:bodyclose // closed by who reads it, below
	if err != nil {
		w.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s %v", response.Status, response.Header)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer func() { _ = response.Body.Close() }()
		for s := bufio.NewScanner(response.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	}()
	return lines
}

// expect reads lines until one is wanted; others must not be said before.
func expect(t *testing.T, lines <-chan string, want, not string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case line, open := <-lines:
			if !open || not != "" && strings.Contains(line, not) {
				t.Fatalf("%q (open %t) while waiting for %q", line, open, want)
			}
			if strings.Contains(line, want) {
				return
			}
		case <-deadline:
			t.Fatalf("no %q within a minute", want)
		}
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t)
	w.server.ping, w.server.recheck = 20*time.Millisecond, 30*time.Millisecond
	lines := w.stream("/events?view=fleet", "a")
	expect(t, lines, "retry: 2000", "")
	expect(t, lines, "event: changed", "") // what changed since the page was read
	w.fleet.Put(set("team-b", "bank"), pagetest.Row{Name: "bank-eu-1", Cluster: "eu-1"})
	expect(t, lines, ": nothing new", "changed") // another tenant's change is none of its business
	expect(t, lines, ": nothing new", "changed")
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-eu-1", Cluster: "eu-1", Health: "Degraded"})
	expect(t, lines, "event: changed", "")
	w.server.ApplicationChanged("team-a")
	expect(t, lines, "event: changed", "")
	w.tokens.Revoke("a")
	expect(t, lines, "event: logout", "")
	for range lines { // it ends
	}
	if n := w.server.hub.Streams(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

func TestStreamLimit(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		expect(t, w.stream("/events?view=set:team-a/shop", "all"), "retry", "")
	}
	if a := w.get("/events?view=fleet", "all"); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "15" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

// What changes between a page and its stream, or while the stream is broken, is read again.
func TestEvents_streamBeginsWithAChange(t *testing.T) {
	w := newWorld(t)
	w.get("/sets/team-a/shop", "all")
	for range 2 {
		w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-eu-1", Cluster: "eu-1", Health: "Degraded"})
		lines := w.stream("/events?view=set:team-a/shop", "all")
		expect(t, lines, "event: changed", ": nothing new")
		w.http.CloseClientConnections()
		for range lines { // it ends
		}
	}
}

// A namespace that comes while a page is open is reviewed when something in it changes.
func TestEvents_newNamespaceIsReviewed(t *testing.T) {
	w := newWorld(t)
	w.server.ping, w.server.recheck = 20*time.Millisecond, time.Hour
	lines := w.stream("/events?view=fleet", "c")
	expect(t, lines, "event: changed", "")
	w.fleet.Put(set("team-d", "other"), pagetest.Row{Name: "other-eu-1", Cluster: "eu-1"})
	expect(t, lines, ": nothing new", "changed")
	expect(t, lines, ": nothing new", "changed")
	w.fleet.Put(set("team-c", "new"), pagetest.Row{Name: "new-eu-1", Cluster: "eu-1"})
	expect(t, lines, "event: changed", "")
}
