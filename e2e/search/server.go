// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/collect"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// Path is the path of the GraphQL endpoint.
const Path = "/searchapi/graphql"

// Source fills a table.
type Source interface {
	// Run fills the table and keeps it current until ctx ends.
	Run(ctx context.Context, into *table.Table) error
}

// Options says what a Server serves and whom.
type Options struct {
	// Dir is the folder of the CA file.
	Dir string

	// Hub is the hub, which tells callers apart and lists the managed clusters.
	Hub *rest.Config
	// Clusters are the managed clusters to answer from, by name.
	Clusters map[string]*rest.Config
	// Interval is how long changes on a cluster are gathered before they show,
	// 100 ms when zero; the real one takes 5 to 10 s.
	Interval time.Duration

	// Source fills the table instead of Hub and Clusters.
	Source Source
	// Reviewer tells callers apart instead of Hub.
	Reviewer access.Reviewer

	// TokenCache is how long an answer about a token is remembered, 1 minute
	// when zero, AccessCache one about a caller's access, 5 minutes when zero.
	TokenCache, AccessCache time.Duration

	// Log gets failures that no request is answered with.
	Log logr.Logger
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	for value, otherwise := range map[*time.Duration]time.Duration{
		&o.TokenCache:  time.Minute,
		&o.AccessCache: 5 * time.Minute,
	} {
		if *value == 0 {
			*value = otherwise
		}
	}
	if o.Reviewer == nil {
		if o.Hub == nil {
			return o, errors.New("neither a hub nor a reviewer to tell callers apart")
		}
		reviewer, err := access.Hub(o.Hub)
		if err != nil {
			return o, err
		}
		o.Reviewer = reviewer
	}
	o.Reviewer = access.Caching(o.Reviewer, o.TokenCache, o.AccessCache)
	if o.Source == nil {
		o.Source = collect.Live{Hub: o.Hub, Clusters: o.Clusters, Interval: o.Interval, Log: o.Log}
	}
	return o, nil
}

// Server is a running stand-in.
type Server struct {
	options Options
	table   *table.Table
	faults  atomic.Pointer[Faults]
	number  atomic.Int64
	stop    context.CancelFunc
	work    sync.WaitGroup
	http    *http.Server
	address string

	mu       sync.Mutex
	identity identity
	next     *identity
	listener net.Listener
	conns    map[net.Conn]bool
}

// Start starts a server; ctx ends it as Close does, but without waiting.
func Start(ctx context.Context, options Options) (*Server, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, table: table.New(), address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	s.faults.Store(&Faults{})
	ctx, s.stop = context.WithCancel(ctx)
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) begin(ctx context.Context) error {
	if err := s.RotateCA(); err != nil {
		return err
	}
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         s.track,
		ErrorLog:          quiet(),
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	if err := s.listen(ctx); err != nil {
		return err
	}
	s.work.Go(func() {
		if err := s.options.Source.Run(ctx, s.table); err != nil && ctx.Err() == nil {
			s.options.Log.Error(err, "Search has no data any more")
		}
	})
	s.work.Go(func() {
		<-ctx.Done()
		// What is open is cut off; there is nothing to drain.
		_ = s.http.Close()
	})
	return nil
}

// URL returns the address of the GraphQL endpoint.
func (s *Server) URL() string { return "https://" + s.address + Path }

// CAFile returns the file of the authority that signed the server's
// certificate.
func (s *Server) CAFile() string { return filepath.Join(s.options.Dir, "ca.crt") }

// CA returns the authority's certificate in PEM.
func (s *Server) CA() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity.caPEM
}

// Table returns the table that the server answers from.
func (s *Server) Table() *table.Table { return s.table }

// Requests returns how many GraphQL requests came in.
func (s *Server) Requests() int { return int(s.number.Load()) }

// Close ends the server and waits for it.
func (s *Server) Close() error {
	s.stop()
	s.work.Wait()
	return nil
}

// PrepareCA makes the authority that the next RotateCA changes to, and returns
// its certificate in PEM, so that a client can trust it beforehand.
func (s *Server) PrepareCA() ([]byte, error) {
	next, err := newIdentity()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = &next
	return next.caPEM, nil
}

// RotateCA replaces the authority and the server's certificate, and the CA file.
// Open connections are closed, so that every client meets the new certificate.
func (s *Server) RotateCA() error {
	s.mu.Lock()
	prepared := s.next != nil
	s.mu.Unlock()
	if !prepared {
		if _, err := s.PrepareCA(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.identity, s.next = *s.next, nil
	caPEM := s.identity.caPEM
	s.mu.Unlock()
	s.hangUp()
	return writeFile(s.CAFile(), caPEM)
}

// SetFaults makes f what the server does wrong from now on; the zero value heals
// it. It fails only if the port that Refuse gave up cannot be had back.
func (s *Server) SetFaults(f Faults) error {
	s.faults.Store(&f)
	s.mu.Lock()
	listening := s.listener != nil
	s.mu.Unlock()
	switch {
	case f.Refuse && listening:
		return s.deafen()
	case !f.Refuse && !listening:
		return s.listen(context.Background())
	}
	return nil
}
