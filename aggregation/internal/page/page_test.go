// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/pagetest"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/server"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A page serves from the start, and says that it is reading until all is read.
func TestPage_servesOnceSynced(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	t.Cleanup(func() { _ = l.Close() })
	read := make(chan struct{})
	logged := make(chan string, 1)
	log := funcr.New(func(_, args string) {
		select {
		case logged <- args:
		default:
		}
	}, funcr.Options{})
	p := &Page{flags: Flags{address: address}, log: log, retry: time.Millisecond, synced: make(chan struct{}), wait: func(ctx context.Context) error {
		select {
		case <-read:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
	fleet := pagetest.New()
	p.server, err = server.New(server.Options{
		Fleet: model.NewFleet(fleet), Applications: fleet, Identity: pagetest.NewTokens(map[string][]string{"all": nil}), Synced: p.isSynced, Log: p.log, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Start(ctx) }()
	browser := &http.Client{Timeout: time.Minute}
	answers := func(want int) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprint("an answer ", want), func() error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/sets", nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer all")
			response, err := browser.Do(r)
			if err != nil {
				return err
			}
			if _ = response.Body.Close(); response.StatusCode != want {
				return fmt.Errorf("status %s, Retry-After %s", response.Status, response.Header.Get("Retry-After"))
			}
			return nil
		})
	}
	if problem := <-logged; !strings.Contains(problem, "address already in use") {
		t.Errorf("logged %s", problem)
	}
	_ = l.Close()
	answers(http.StatusServiceUnavailable)
	close(read)
	answers(http.StatusOK)
	browser.CloseIdleConnections()
	idle := make([]net.Conn, maxConnections)
	for i := range idle { // which ask for nothing
		if idle[i], err = (&net.Dialer{}).DialContext(t.Context(), "tcp", address); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/login", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := (&http.Client{Timeout: time.Second}).Do(r); err == nil {
		_ = response.Body.Close()
		t.Error("there is no limit of connections")
	}
	for _, c := range idle {
		_ = c.Close()
	}
	answers(http.StatusOK)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
