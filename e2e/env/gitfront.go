// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// gitHost is the host of the repository that the examples name. Nothing on this
// machine resolves it.
const gitHost = "git.example.com"

// gitFront lets Argo CD read https://git.example.com/ with the examples applied as
// they are: it is the HTTPS proxy of the repository server, which connects that one
// host to git on this machine, under a certificate that the repository server was
// told to trust, and nothing else to anything.
type gitFront struct {
	tls   *tls.Config
	conns chan net.Conn
	addr  net.Addr
	done  <-chan struct{}
}

// startGitFront serves on port until ctx ends.
func startGitFront(ctx context.Context, port int, certificate tls.Certificate, repositories http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", local(port))
	if err != nil {
		return err
	}
	g := &gitFront{
		tls:   &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		conns: make(chan net.Conn), addr: listener.Addr(), done: ctx.Done(),
	}
	proxy := &http.Server{Handler: http.HandlerFunc(g.connect), ReadHeaderTimeout: 10 * time.Second}
	inner := &http.Server{Handler: repositories, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _, _ = proxy.Close(), inner.Close() }) // clients that are still connected are ending too
	go func() { _ = proxy.Serve(listener) }()
	go func() { _ = inner.Serve(g) }()
	return nil
}

// connect answers a proxy's CONNECT and hands the connection to the inner server.
func (g *gitFront) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != gitHost+":443" {
		http.Error(w, "this machine reaches "+gitHost+" and nothing else", http.StatusForbidden)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = conn.Close() // the other side is gone
		return
	}
	select {
	case g.conns <- tls.Server(conn, g.tls):
	case <-g.done:
		_ = conn.Close() // so are we
	}
}

// Accept makes gitFront the listener of the inner server.
func (g *gitFront) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.done:
		return nil, errors.Join(net.ErrClosed, http.ErrServerClosed)
	}
}

// Close does nothing: the context ends it.
func (g *gitFront) Close() error { return nil }

// Addr is the proxy's.
func (g *gitFront) Addr() net.Addr { return g.addr }
