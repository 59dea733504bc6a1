// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestKindOf_classifiesTransportFailures(t *testing.T) {
	tests := map[string]struct {
		reason  string
		handler http.HandlerFunc
		kind    Kind
	}{
		"cut": {"a connection that breaks in the answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, emptyAnswer[:30])
		}, KindIncomplete},
		"cut with a clean end": {"a proxy that gives up", answers(emptyAnswer[:30]), KindIncomplete},
		"empty":                {"nothing at all", answers(""), KindIncomplete},
		"not JSON":             {"a login page", answers("<html>"), KindMalformed},
		"two answers":          {"what follows the answer belongs to no request", answers(emptyAnswer + emptyAnswer), KindMalformed},
		"a list":               {"JSON, but no answer", answers("[]"), KindMalformed},
		"null":                 {"JSON, but no answer", answers("null"), KindMalformed},
		"no data":              {"neither data nor errors", answers("{}"), KindMalformed},
		"data null":            {"neither data nor errors", answers(`{"data":null}`), KindMalformed},
		"results null":         {"no error with it", answers(`{"data":{"searchResult":null}}`), KindMalformed},
		"result null":          {"no items, no error", answers(`{"data":{"searchResult":[null]}}`), KindIncomplete},
		"items no list":        {"a type that the schema does not have", answers(`{"data":{"searchResult":[{"count":0,"items":{}}]}}`), KindMalformed},
		"count too high":       {"rows were cut", answers(`{"data":{"searchResult":[{"count":3,"items":[{"_uid":"a"}]}]}}`), KindIncomplete},
		"count too low":        {"two statements that saw different times", answers(`{"data":{"searchResult":[{"count":0,"items":[{"_uid":"a"}]}]}}`), KindIncomplete},
		"too large":            {"more than is allowed", answers(`{"data":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`), KindTooLarge},
		"redirect": {"the token is not carried elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, KindStatus},
		"bad gateway": {"a proxy's own page", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, KindStatus},
		"hang up":     {"a server that dies", hangUp, KindUnreachable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := newClient(t, tc.handler)
			if err := applicationsOf(c); KindOf(err) != tc.kind {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.kind)
			}
		})
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func TestKindOf_classifiesAMissingServer(t *testing.T) {
	c, server := newClient(t, answers(emptyAnswer))
	server.Close()
	if err := applicationsOf(c); KindOf(err) != KindUnreachable {
		t.Errorf("refused: %v", err)
	}
	c.options.URL = "https://search.invalid:4010/"
	c.http.Transport = &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
	}}
	if err := applicationsOf(c); KindOf(err) != KindAbsent {
		t.Errorf("no such name: %v", err)
	}
}

func TestKindOf_classifiesTimeouts(t *testing.T) {
	for name, begin := range map[string]string{"no answer": "", "half an answer": emptyAnswer[:30]} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			c, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, begin)
				if begin != "" {
					_ = http.NewResponseController(w).Flush()
				}
				<-release
			})
			t.Cleanup(func() { close(release) }) // before the server waits for its handlers
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := c.Applications(ctx, []string{"cluster1"}, Digest{}); KindOf(err) != KindTimeout {
				t.Errorf("got %v", err)
			}
		})
	}
}
