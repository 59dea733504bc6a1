// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// socket is a client's WebSocket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// dial opens a WebSocket in a protocol and greets as an account.
func dial(t *testing.T, server *search.Server, protocol, account string) socket {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CA())
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: roots}, Subprotocols: []string{protocol}}
	conn, response, err := dialer.DialContext(t.Context(), strings.Replace(server.URL(), "https", "wss", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(testkit.Patience)); err != nil {
		t.Fatal(err)
	}
	s := socket{t, conn}
	s.send(map[string]any{"type": "connection_init", "payload": map[string]any{"Authorization": "Bearer " + account}})
	return s
}

func (s socket) send(message any) {
	s.t.Helper()
	if err := s.conn.WriteJSON(message); err != nil {
		s.t.Fatal(err)
	}
}

// next returns the next message that is not a ping.
func (s socket) next() map[string]any {
	s.t.Helper()
	for {
		var message map[string]any
		if err := s.conn.ReadJSON(&message); err != nil {
			s.t.Fatal(err)
		}
		if message["type"] != "ping" && message["type"] != "ka" {
			return message
		}
	}
}

// frames returns what the client sent in a sample after its greeting, and what
// the server answered other than pings.
func frames(t *testing.T, s sample) (client, server []map[string]any) {
	t.Helper()
	for _, frame := range s.Frames {
		var message map[string]any
		if frame.Dir == "info" || json.Unmarshal(frame.Data, &message) != nil {
			continue
		}
		switch message["type"] {
		case "connection_init", "connection_ack", "ping", "pong":
		default:
			if frame.Dir == "client" {
				client = append(client, message)
			} else {
				server = append(server, message)
			}
		}
	}
	return client, server
}

// TestWatchRefusals replays the subscriptions that the service refuses.
func TestWatchRefusals(t *testing.T) {
	server := serve(t, search.Options{Source: recordedRows(t)})
	for name, faults := range map[string]search.Faults{
		"35-watch-bad-label-filter.json": {},
		"35b-watch-label-operator.json":  {},
		"35c-watch-empty-values.json":    {},
		"35d-watch-unknown-field.json":   {},
		"36b-complete.json":              {},
		"43-watch-feature-disabled.json": {WatchDisabled: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := server.SetFaults(faults); err != nil {
				t.Fatal(err)
			}
			sent, recorded := frames(t, read(t, name))
			s := dial(t, server, "graphql-transport-ws", "reader-admin")
			if ack := s.next(); ack["type"] != "connection_ack" {
				t.Fatalf("greeted with %v", ack)
			}
			for _, message := range sent {
				s.send(message)
			}
			for _, want := range recorded {
				if diff := gocmp.Diff(want, s.next()); diff != "" {
					t.Error("the server says something else (-recorded +ours):\n" + diff)
				}
			}
		})
	}
}

// TestWatch follows the row of the recorded events.
func TestWatch(t *testing.T) {
	for name, test := range map[string]struct {
		reason, protocol, account, sample string
		told                              bool
	}{
		"admin":        {"who may do all is told", "graphql-transport-ws", "reader-admin", "30-watch-insert-update-delete.json", true},
		"legacy":       {"the older protocol works too", "graphql-ws", "reader-admin", "30-watch-insert-update-delete.json", true},
		"views":        {"the right on all clusters' views is enough", "graphql-transport-ws", "reader-mcv", "30-watch-insert-update-delete.json", true},
		"all managed":  {"the right to read all managed data is not", "graphql-transport-ws", "reader-allmanaged", "30-watch-insert-update-delete.json", false},
		"by cluster":   {"events have no cluster, so nothing matches", "graphql-transport-ws", "reader-admin", "31-watch-cluster-filter.json", false},
		"no condition": {"every event", "graphql-transport-ws", "reader-admin", "33-watch-null-input.json", true},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, search.Options{Source: recordedRows(t)})
			waitForRows(t, server)
			sent, _ := frames(t, read(t, test.sample))
			s := dial(t, server, test.protocol, test.account)
			for _, message := range sent {
				if test.protocol == "graphql-ws" {
					message["type"] = "start"
				}
				s.send(message)
			}
			s.next() // the acknowledgement
			testkit.Until(t, "the subscription to be there", func() bool { return server.Table().Watchers() == 1 })
			change(t, server, read(t, "30-watch-insert-update-delete.json"))
			if !test.told {
				s.hearsNothing(sent[0]["id"])
				return
			}
			got := s.next()["payload"].(map[string]any)["data"].(map[string]any)["watch"].(map[string]any)
			if _, err := time.Parse("2006-01-02T15:04:05.000000-07:00", got["timestamp"].(string)); err != nil {
				t.Error(err)
			}
			want := read(t, "30-watch-insert-update-delete.json").firstEvent(t)
			delete(want, "timestamp")
			delete(got, "timestamp")
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-recorded +ours):\n%s", test.reason, diff)
			}
		})
	}
}

// firstEvent returns the first event of a sample.
func (s sample) firstEvent(t *testing.T) map[string]any {
	t.Helper()
	_, recorded := frames(t, s)
	return recorded[0]["payload"].(map[string]any)["data"].(map[string]any)["watch"].(map[string]any)
}

// change makes the first change of a sample.
func change(t *testing.T, server *search.Server, s sample) {
	t.Helper()
	event := s.firstEvent(t)
	uid := event["uid"].(string)
	cluster, _, _ := strings.Cut(uid, "/")
	server.Table().Put(table.Row{UID: uid, Cluster: cluster, Data: event["newData"].(map[string]any)})
}

// hearsNothing ends the subscription and fails if anything but its end comes.
func (s socket) hearsNothing(id any) {
	s.t.Helper()
	s.send(map[string]any{"type": "complete", "id": id})
	if message := s.next(); message["type"] != "complete" {
		s.t.Errorf("heard %v, want nothing", message)
	}
}

// TestWatchSecond subscribes twice on one connection: the first goes silent.
func TestWatchSecond(t *testing.T) {
	server := serve(t, search.Options{Source: recordedRows(t)})
	waitForRows(t, server)
	sent, _ := frames(t, read(t, "36-two-subscriptions-one-connection.json"))
	s := dial(t, server, "graphql-transport-ws", "reader-admin")
	s.next()
	for i, message := range sent {
		s.send(message)
		testkit.Until(t, "the subscription to be there", func() bool { return server.Table().Watchers() == i+1 })
	}
	change(t, server, read(t, "30-watch-insert-update-delete.json"))
	if got := s.next(); got["id"] != sent[1]["id"] {
		t.Errorf("event for %v, want one for %v", got["id"], sent[1]["id"])
	}
	s.hearsNothing(sent[0]["id"])
}

// TestWatchUnmatched changes rows so that they do not match any more, or not by a
// wildcard: nothing is sent, until a row matches.
func TestWatchUnmatched(t *testing.T) {
	for name, test := range map[string]struct {
		reason       string
		silent, told map[string]any
	}{
		"34-watch-label-removed.json": {
			"a row that stops matching sends nothing",
			map[string]any{"kind": "Application", "apigroup": "argoproj.io"},
			map[string]any{"kind": "Application", "apigroup": "argoproj.io", "label": map[string]any{"apps.open-cluster-management.io/application-set": "true"}},
		},
		"34b-watch-wildcard-newline.json": {
			"* does not match a newline",
			map[string]any{"_conditionSyncError": "two\nlines"},
			map[string]any{"_conditionSyncError": "single line"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, search.Options{})
			sent, _ := frames(t, read(t, name))
			s := dial(t, server, "graphql-transport-ws", "reader-admin")
			s.next()
			s.send(sent[0])
			testkit.Until(t, "the subscription to be there", func() bool { return server.Table().Watchers() == 1 })
			server.Table().Put(table.Row{UID: "cluster1/silent", Cluster: "cluster1", Data: test.silent})
			server.Table().Put(table.Row{UID: "cluster1/told", Cluster: "cluster1", Data: test.told})
			event := s.next()["payload"].(map[string]any)["data"].(map[string]any)["watch"].(map[string]any)
			if event["uid"] != "cluster1/told" {
				t.Errorf("%s: heard of %v", test.reason, event["uid"])
			}
		})
	}
}

// TestWatchStranger greets with the token of no account: the connection ends.
func TestWatchStranger(t *testing.T) {
	server := serve(t, search.Options{})
	s := dial(t, server, "graphql-transport-ws", "notatoken")
	_, _, err := s.conn.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.CloseNormalClosure || closed.Text != "terminated" {
		t.Errorf("%v, want the end with 1000 terminated", err)
	}
}
