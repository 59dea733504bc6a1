// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
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

// Options are the settings of a Server.
type Options struct {
	// Dir is the folder of the CA file.
	Dir string

	// Hub is the configuration of the hub, which authenticates callers and lists the managed clusters.
	Hub *rest.Config
	// Clusters are the configurations of the managed clusters, by name.
	Clusters map[string]*rest.Config

	// Source fills the table instead of Hub and Clusters.
	Source Source
	// Reviewer authenticates callers instead of Hub.
	Reviewer access.Reviewer

	// Log receives failures that no answer contains.
	Log logr.Logger
}

// Server is a running stand-in.
type Server struct {
	options Options
	table   *table.Table
	faults  atomic.Pointer[Faults]
	number  atomic.Int64
	context context.Context //nolint:containedctx // it is the server's own life
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	address  string
	identity identity
	next     *identity
	http     *http.Server // nil if the port is closed
}

// Start starts a server. The end of ctx stops the server like Close, but without waiting.
func Start(ctx context.Context, options Options) (*Server, error) {
	if options.Reviewer == nil {
		if options.Hub == nil {
			return nil, errors.New("neither a hub nor a reviewer to tell callers apart")
		}
		reviewer, err := access.Hub(options.Hub)
		if err != nil {
			return nil, err
		}
		options.Reviewer = reviewer
	}
	if options.Source == nil {
		options.Source = collect.Live{Hub: options.Hub, Clusters: options.Clusters}
	}
	s := &Server{options: options, table: table.New(), address: "127.0.0.1:0"}
	s.faults.Store(&Faults{})
	s.context, s.stop = context.WithCancel(ctx)
	if err := errors.Join(s.RotateCA(), s.listen()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.work.Go(func() {
		if err := s.options.Source.Run(s.context, s.table); err != nil && s.context.Err() == nil {
			s.options.Log.Error(err, "Search has no data any more")
		}
	})
	context.AfterFunc(s.context, func() { _ = s.deafen() }) //nolint:contextcheck // it is its own; what is open is cut off; there is nothing to drain
	return s, nil
}

// URL returns the address of the GraphQL endpoint.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "https://" + s.address + Path
}

// CAFile returns the file of the authority that signed the server's certificate.
func (s *Server) CAFile() string { return filepath.Join(s.options.Dir, "ca.crt") }

// CA returns the authority's certificate in PEM.
func (s *Server) CA() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity.caPEM
}

// Table returns the table that the server answers from.
func (s *Server) Table() *table.Table { return s.table }

// Requests returns the number of received GraphQL requests.
func (s *Server) Requests() int { return int(s.number.Load()) }

// Close stops the server and waits until it has stopped.
func (s *Server) Close() error {
	s.stop()
	err := s.deafen()
	s.work.Wait()
	return err
}

// PrepareCA creates the next authority for RotateCA and returns its certificate in PEM, so that a client can
// trust it beforehand.
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

// RotateCA replaces the authority, the server's certificate, and the CA file. Afterwards each request uses a
// separate connection, so that every client gets the new certificate.
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
	defer s.mu.Unlock()
	s.identity, s.next = *s.next, nil
	if s.http != nil {
		s.http.SetKeepAlivesEnabled(false)
	}
	return writeFile(s.CAFile(), s.identity.caPEM)
}

// SetFaults sets the faults of the server. The zero value removes them. It fails only if the server cannot
// open the port again after Refuse.
func (s *Server) SetFaults(f Faults) error {
	s.faults.Store(&f)
	if f.Refuse {
		return s.deafen()
	}
	return s.listen()
}

// listen opens the port and serves it, unless the port is open. It keeps the first port.
func (s *Server) listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(s.context, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.address, err)
	}
	s.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, s.handle)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return s.context },
		ErrorLog:     log.New(io.Discard, "", 0), // the tests have clients that disconnect or do not trust the server
		TLSConfig:    s.tlsConfig(),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	s.http = server
	// ServeTLS returns only after the server was closed.
	s.work.Go(func() { _ = server.ServeTLS(listener, "", "") })
	return nil
}

// deafen closes the port and all connections, if the port is open.
func (s *Server) deafen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	server := s.http
	if server == nil {
		return nil
	}
	s.http = nil
	if err := server.Close(); err != nil {
		return fmt.Errorf("close the port: %w", err)
	}
	return nil
}

// tlsConfig returns the TLS settings of the service: TLS 1.2 with one cipher suite or 1.3, NIST
// curves, HTTP/1.1.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:       tls.VersionTLS12,
		CipherSuites:     []uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
		CurvePreferences: []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521},
		NextProtos:       []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			certificate := s.identity.certificate
			return &certificate, nil
		},
	}
}
