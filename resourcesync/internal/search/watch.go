// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

const (
	watchProtocol = "graphql-transport-ws"
	watchQuery    = `subscription resourcesyncWatch($input: SearchInput) { watch(input: $input) { uid } }`

	// watchSilence is how long the server may say nothing at all: it pings every ten
	// seconds.
	watchSilence = time.Minute
	// watchLife ends a subscription before its token does, whose end the server tells
	// nobody.
	watchLife = 30 * time.Minute
	// watchMessage bounds a message: an event has one UID.
	watchMessage = 1 << 20
)

// watchFrame is a message of the protocol graphql-transport-ws.
type watchFrame struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Watch subscribes to changes of pulled Applications and calls changed for each
// event, until the subscription ends, which it does within half an hour. Events
// are lost without notice, relations are not watched, and an account without the
// right gets none at all: an event means "look again", silence means nothing. It
// returns nil when the subscription ended as it should.
func (c *Client) Watch(ctx context.Context, changed func()) error {
	token, err := readToken(c.options.TokenFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, watchLife, errWatchLife)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, c.options.URL, &websocket.DialOptions{ //nolint:bodyclose // the body is a copy in memory, or the connection itself
		HTTPClient: c.http, Subprotocols: []string{watchProtocol},
	})
	if err != nil {
		if response != nil && response.StatusCode >= 300 {
			return statusError(response.StatusCode, response.Body)
		}
		return connectionError(err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(watchMessage)
	w := &watch{conn: conn, changed: changed}
	err = w.run(ctx, token)
	if errors.Is(context.Cause(ctx), errWatchLife) {
		return nil
	}
	return err
}

var errWatchLife = errors.New("time for a new token")

type watch struct {
	conn    *websocket.Conn
	changed func()
}

func (w *watch) run(ctx context.Context, token string) error {
	if conn := w.conn.Subprotocol(); conn != watchProtocol {
		return &Error{Kind: KindQuery, Detail: fmt.Sprintf("the server speaks %q, not %s", conn, watchProtocol)}
	}
	if err := w.send(ctx, "connection_init", "", map[string]string{"Authorization": "Bearer " + token}); err != nil {
		return err
	}
	subscription := graphQLRequest{Query: watchQuery, Variables: map[string]any{"input": applications()}}
	for {
		f, err := w.receive(ctx)
		if err != nil {
			return err
		}
		switch f.Type {
		case "connection_ack":
			err = w.send(ctx, "subscribe", "1", subscription)
		case "ping":
			err = w.send(ctx, "pong", "", nil)
		case "next":
			err = w.event(f.Payload)
		case "error":
			err = &Error{Kind: KindQuery, Detail: line(string(f.Payload))}
		case "complete":
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *watch) event(payload []byte) error {
	var e struct {
		Errors []graphQLError `json:"errors"`
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return &Error{Kind: KindMalformed, Detail: "an event that is none"}
	}
	if len(e.Errors) > 0 {
		return e.Errors[0].classify()
	}
	w.changed()
	return nil
}

func (w *watch) send(ctx context.Context, kind, id string, payload any) error {
	f := watchFrame{ID: id, Type: kind}
	if payload != nil {
		var err error
		if f.Payload, err = json.Marshal(payload); err != nil {
			return fmt.Errorf("encode %s: %w", kind, err)
		}
	}
	if err := wsjson.Write(ctx, w.conn, f); err != nil {
		return connectionError(err)
	}
	return nil
}

func (w *watch) receive(ctx context.Context) (watchFrame, error) {
	ctx, cancel := context.WithTimeout(ctx, watchSilence)
	defer cancel()
	var f watchFrame
	err := wsjson.Read(ctx, w.conn, &f)
	switch {
	case err == nil:
		return f, nil
	case websocket.CloseStatus(err) == websocket.StatusNormalClosure:
		return f, &Error{Kind: KindUnauthenticated, Detail: "the server closed the connection, which is how it refuses a token"}
	case websocket.CloseStatus(err) != -1:
		return f, &Error{Kind: KindMalformed, Err: err}
	}
	return f, connectionError(err)
}
