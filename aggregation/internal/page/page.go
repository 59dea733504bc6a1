// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package page starts the page of the fleet: a listener of its own that shows what the
// reports say. While it is off nothing of it runs and nothing of it is held.
package page

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/server"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Page is the page of one process.
type Page struct {
	flags  Flags
	server *server.Server
	log    logr.Logger
	synced chan struct{}
	wait   func(context.Context) error
	retry  time.Duration // after an error
}

// Options of [Setup].
type Options struct {
	Flags  Flags
	Source model.Source
	// WaitForSync returns once the source has all that was there at start.
	WaitForSync func(context.Context) error
	Log         logr.Logger
}

// Setup adds the page to a manager, on a leader and on a standby alike.
func Setup(mgr ctrl.Manager, o Options) (*Page, error) {
	identity, err := access.New(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	p := &Page{flags: o.Flags, log: o.Log, synced: make(chan struct{}), wait: o.WaitForSync, retry: retryAfter}
	apps, err := hubapps.NewWatch(mgr.GetConfig(), p.applicationChanged)
	if err != nil {
		return nil, err
	}
	p.server, err = server.New(server.Options{
		Fleet: model.NewFleet(o.Source), Applications: apps, Identity: identity, Synced: p.isSynced,
		Hosts: o.Flags.names(), Secure: o.Flags.secure,
		ArgoCDURL: strings.TrimSuffix(o.Flags.argocdURL, "/"), ArgoCDOf: argoCDOf(mgr.GetCache()), Log: o.Log, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	return p, errors.Join(mgr.Add(apps), mgr.Add(p))
}

// argoCDOf returns a function for the address of a managed cluster's Argo CD, from the
// annotation of its ManagedCluster; "": it has none that may be linked to.
func argoCDOf(clusters client.Reader) func(ctx context.Context, cluster string) string {
	return func(ctx context.Context, cluster string) string {
		var c clusterv1.ManagedCluster
		if err := clusters.Get(ctx, client.ObjectKey{Name: cluster}, &c); err != nil {
			return "" // it is gone, and its link with it
		}
		if address := c.Annotations[contract.ArgoCDURLAnnotation]; linkable(address) {
			return strings.TrimSuffix(address, "/")
		}
		return ""
	}
}

// Changed notifies the page that an ApplicationSet is different now. It does not block, and a
// page that is off takes it as well.
func (p *Page) Changed(key types.NamespacedName) {
	if p != nil {
		p.server.Changed(key)
	}
}

func (p *Page) applicationChanged(namespace string) { p.server.ApplicationChanged(namespace) }

func (p *Page) isSynced() bool {
	select {
	case <-p.synced:
		return true
	default:
		return false
	}
}

// NeedLeaderElection is false: every replica serves.
func (p *Page) NeedLeaderElection() bool { return false }

// Limits of a request.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 30 * time.Second
	maxHeader     = 16 << 10
	// maxConnections is how many there are at once; each costs some 40 KiB before its first
	// request, and this process writes the reports as well.
	maxConnections = 256
)

const (
	retryAfter = 10 * time.Second
	// certLifetime is how long the page is served with one self-signed certificate, which is
	// valid for a year.
	certLifetime = 300 * 24 * time.Hour
)

// Start serves until ctx ends. What keeps it from serving costs the page only, not the
// process, which writes the reports.
func (p *Page) Start(ctx context.Context) error {
	go func() {
		if p.wait(ctx) == nil { // it ends with ctx, too
			close(p.synced)
		}
	}()
	for ctx.Err() == nil {
		if err := p.serve(ctx); err != nil {
			p.log.Error(err, "cannot serve the page; trying again", "after", p.retry.String())
			clock.Sleep(ctx, p.retry)
		}
	}
	return nil
}

// serve serves until ctx ends or it is time for another certificate.
func (p *Page) serve(ctx context.Context) error {
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
	listener, err := l.Listen(ctx, "tcp", p.flags.address)
	if err != nil {
		return fmt.Errorf("--page-bind-address %q: %w", p.flags.address, err)
	}
	listener = netutil.LimitListener(listener, maxConnections)
	s := p.httpServer(config)                                         //nolint:contextcheck // each request has its own
	s.BaseContext = func(net.Listener) context.Context { return ctx } // open streams end with it
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-ctx.Done()
		_ = s.Close() // nothing is written: there is nothing to finish
	}()
	p.log.Info("serving the page of the fleet", "address", listener.Addr().String(), "tls", p.flags.secure)
	serve := s.Serve
	if s.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") } // with HTTP/2, in which streams are many to a connection
	}
	err = serve(listener)
	cancel()
	<-closed
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

func (p *Page) tls(ctx context.Context) (*tls.Config, error) {
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
func (p *Page) httpServer(config *tls.Config) *http.Server {
	return &http.Server{
		Handler: p.server.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, TLSConfig: config,
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(p.log.V(1)), slog.LevelDebug), // each stranger's handshake
	}
}
