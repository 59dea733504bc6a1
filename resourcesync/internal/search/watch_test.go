// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// recorded returns the payload of the first frame of that type which the real
// service has sent.
func recorded(t *testing.T, sample, frame string) watchFrame {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", sample+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Frames []struct {
			Dir  string          `json:"dir"`
			Data json.RawMessage `json:"data"`
		} `json:"frames"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Frames {
		var w watchFrame
		if f.Dir == "server" && json.Unmarshal(f.Data, &w) == nil && w.Type == frame {
			return w
		}
	}
	t.Fatalf("%s has no %s", sample, frame)
	return watchFrame{}
}

func TestWatch(t *testing.T) {
	ack := watchFrame{Type: "connection_ack", Payload: json.RawMessage("{}")}
	tests := []struct {
		name, reason string
		frames       []watchFrame
		close        websocket.StatusCode
		events       int
		kind         Kind
	}{
		{"events", "each is a hint, a ping is none", []watchFrame{ack, recorded(t, "30-watch-insert-update-delete", "next"), {Type: "ping"}, recorded(t, "30-watch-insert-update-delete", "next"), {ID: "1", Type: "complete"}}, 0, 2, ""},
		{"end", "the server ends it after hours", []watchFrame{ack, {ID: "1", Type: "complete"}}, 0, 0, ""},
		{"disabled", "a resolver's error comes as an event", []watchFrame{ack, recorded(t, "43-watch-feature-disabled", "next")}, 0, 0, KindGraphQL},
		{"too many", "another resolver's error", []watchFrame{ack, recorded(t, "40-watch-max-active", "next")}, 0, 0, KindGraphQL},
		{"schema", "a query that the server does not understand", []watchFrame{ack, recorded(t, "35d-watch-unknown-field", "error")}, 0, 0, KindQuery},
		{"refused", "a refused token is a normal closure", nil, websocket.StatusNormalClosure, 0, KindUnauthenticated},
		{"broken", "a server that goes away", []watchFrame{ack}, websocket.StatusGoingAway, 0, KindMalformed},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{watchProtocol}})
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.CloseNow() }()
				serveWatch(r.Context(), t, conn, tc.frames)
				if tc.close != 0 {
					_ = conn.Close(tc.close, "terminated")
				}
				_, _, _ = conn.Read(r.Context()) // until the client has gone
			})
			events := 0
			err := c.Watch(t.Context(), func() { events++ })
			if KindOf(err) != tc.kind || (err != nil) != (tc.kind != "") || events != tc.events {
				t.Errorf("%s: %v after %d events, want %q after %d", tc.reason, err, events, tc.kind, tc.events)
			}
		})
	}
}

// serveWatch checks what a client must send and plays the server's part.
func serveWatch(ctx context.Context, t *testing.T, conn *websocket.Conn, frames []watchFrame) {
	var f watchFrame
	if err := wsjson.Read(ctx, conn, &f); err != nil || f.Type != "connection_init" || !strings.Contains(string(f.Payload), `"Authorization":"Bearer a-token"`) {
		t.Errorf("init: %+v, %v", f, err)
	}
	for i, out := range frames {
		if err := wsjson.Write(ctx, conn, out); err != nil {
			t.Error(err)
		}
		if i == 0 {
			if err := wsjson.Read(ctx, conn, &f); err != nil || f.Type != "subscribe" || !strings.Contains(string(f.Payload), "kind_plural") {
				t.Errorf("subscribe: %+v, %v", f, err)
			}
		}
		if out.Type == "ping" {
			if err := wsjson.Read(ctx, conn, &f); err != nil || f.Type != "pong" {
				t.Errorf("pong: %+v, %v", f, err)
			}
		}
	}
}

func TestWatchIsNotServed(t *testing.T) {
	s := load(t, "28-federated-disabled")
	c, server := newClient(t, s.serve)
	if err := c.Watch(t.Context(), func() {}); KindOf(err) != KindAbsent {
		t.Errorf("404: %v", err)
	}
	server.Close()
	if err := c.Watch(t.Context(), func() {}); KindOf(err) != KindUnreachable {
		t.Errorf("refused: %v", err)
	}
	other, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = conn.Read(r.Context())
		}
	})
	if err := other.Watch(t.Context(), func() {}); KindOf(err) != KindQuery {
		t.Errorf("another protocol: %v", err)
	}
}
