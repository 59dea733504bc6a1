// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// listener serves the page. It is a runnable of the manager that needs no leader election.
type listener struct {
	flags   *Flags
	handler http.Handler
	log     logr.Logger
	retry   time.Duration // after an error
}

// NeedLeaderElection returns false, because every replica serves.
func (p *listener) NeedLeaderElection() bool { return false }

// These are the limits of a request.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 30 * time.Second
	maxHeader     = 16 << 10
	// maxConnections limits the connections, and maxStreams the requests that each may have at a
	// time. The user of a connection is known only after a request was read.
	maxConnections = 256
	maxStreams     = 8
)

const (
	retryAfter = 10 * time.Second
	// certLifetime is how long the page uses one self-signed certificate, which is valid for a
	// year.
	certLifetime = 300 * 24 * time.Hour
)

// Start serves until ctx ends. After an error it tries again.
func (p *listener) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := p.serve(ctx); err != nil {
			p.log.Error(err, "cannot serve the page; trying again", "after", p.retry.String())
			clock.Sleep(ctx, p.retry)
		}
	}
	return nil
}

// serve serves until ctx ends or the certificate has to be replaced.
func (p *listener) serve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, certLifetime)
	defer cancel()
	var config *tls.Config
	if p.flags.secure {
		var err error
		if config, err = p.tls(ctx); err != nil {
			return err
		}
	}
	var l net.ListenConfig
	conns, err := l.Listen(ctx, "tcp", p.flags.address)
	if err != nil {
		return fmt.Errorf("--page-bind-address %q: %w", p.flags.address, err)
	}
	conns = netutil.LimitListener(conns, maxConnections)
	s := p.httpServer(config)
	s.BaseContext = func(net.Listener) context.Context { return ctx }
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-ctx.Done()
		_ = s.Close() // requests write nothing, so none has to finish
	}()
	p.log.Info("serving the page of the fleet", "address", conns.Addr().String(), "tls", p.flags.secure)
	serve := s.Serve
	if s.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") } // with HTTP/2, which has many streams on a connection
	}
	err = serve(conns)
	cancel()
	<-closed
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

func (p *listener) tls(ctx context.Context) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.flags.certDir != "" {
		watcher, err := certwatcher.New(p.flags.certFiles())
		if err != nil {
			return nil, fmt.Errorf("--page-cert-dir %q: %w", p.flags.certDir, err)
		}
		go func() {
			if err := watcher.Start(ctx); err != nil {
				p.log.Error(err, "cannot watch the page's certificate; the one that was read stays in use")
			}
		}()
		config.GetCertificate = watcher.GetCertificate
		return config, nil
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, p.flags.names())
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the page: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the page: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// httpServer returns the server of the page, which has no context yet.
func (p *listener) httpServer(config *tls.Config) *http.Server {
	return &http.Server{
		Handler: p.handler, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, TLSConfig: config,
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(p.log.V(1)), slog.LevelDebug), // each stranger's handshake
	}
}
