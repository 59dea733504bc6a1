// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
)

// listen opens the port and serves it. The port of the first time is kept.
func (s *Server) listen(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.address, err)
	}
	s.mu.Lock()
	s.listener = listener
	s.address = listener.Addr().String()
	s.mu.Unlock()
	s.work.Go(func() {
		// It ends when the listener or the server is closed, which is the only
		// way it can end.
		_ = s.http.Serve(tls.NewListener(listener, s.tlsConfig()))
	})
	return nil
}

// deafen closes the port and all connections.
func (s *Server) deafen() error {
	s.mu.Lock()
	listener := s.listener
	s.listener = nil
	s.mu.Unlock()
	err := listener.Close()
	s.hangUp()
	if err != nil {
		return fmt.Errorf("close the port: %w", err)
	}
	return nil
}

// hangUp closes all connections.
func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		// A connection that is closed already is what we want.
		_ = conn.Close()
	}
}

func (s *Server) track(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew, http.StateActive, http.StateIdle, http.StateHijacked:
		s.conns[conn] = true
	case http.StateClosed:
		delete(s.conns, conn)
	}
}

// tlsConfig is what the service speaks: TLS 1.2 with one cipher suite or 1.3,
// NIST curves, HTTP/1.1.
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

// quiet drops net/http's own lines: clients that hang up or do not trust us are
// part of the tests.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
