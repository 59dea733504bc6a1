// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/server"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The page listens from the start, and answers 503 until all Applications are read. It limits the number of
// connections.
func TestListener_servesOnceSynced(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	t.Cleanup(func() { _ = l.Close() })
	var read atomic.Bool
	logged := make(chan string, 1)
	log := funcr.New(func(_, args string) {
		select {
		case logged <- args:
		default:
		}
	}, funcr.Options{})
	page, err := server.New(server.Options{
		Fleet: model.NewFleet(), Identity: pagetest.NewTokens(map[string][]string{"all": nil}), Resources: pagetest.Resources,
		Synced: read.Load, Leases: func() []model.Lease { return nil }, Log: log, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &listener{flags: &Flags{address: address}, handler: page.Handler(), log: log, retry: time.Millisecond}
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
	read.Store(true)
	answers(http.StatusOK)
	browser.CloseIdleConnections()
	idle := make([]net.Conn, maxConnections)
	for i := range idle { // they send no request
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

// Any client may open a connection, so the number of its parallel requests is limited.
func TestListener_boundsStreamsOfAConnection(t *testing.T) {
	address := freeAddress(t)
	var mu sync.Mutex
	open, most := map[string]int{}, 0 // by connection
	release := make(chan struct{})
	p := &listener{flags: &Flags{address: address, secure: true}, log: logr.Discard(), retry: time.Millisecond, handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		open[r.RemoteAddr]++
		most = max(most, open[r.RemoteAddr])
		mu.Unlock()
		<-release
		mu.Lock()
		open[r.RemoteAddr]--
		mu.Unlock()
	})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Start(ctx) }()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1} // the certificate is self-signed
	ask := func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address, nil)
		if err != nil {
			return err
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		if response.ProtoMajor != 2 {
			t.Errorf("by %s", response.Proto)
		}
		return response.Body.Close()
	}
	var all sync.WaitGroup
	for range 5 * maxStreams {
		all.Go(func() { testkit.Eventually(t, "an answer", ask) })
	}
	testkit.Until(t, "as many requests as there may be", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return most >= maxStreams
	})
	close(release)
	all.Wait()
	if most > maxStreams {
		t.Errorf("%d requests of one connection were under way at once", most)
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
