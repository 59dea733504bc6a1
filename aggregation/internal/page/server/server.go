// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves the page: it reads from memory, asks the API server only who
// a viewer is and what they may see, and changes nothing.
package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/live"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/session"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// Identity says who a viewer is and what they may see; [access.Access] does.
type Identity interface {
	Authenticate(ctx context.Context, token string) (*access.Viewer, error)
	Allowed(ctx context.Context, v *access.Viewer, namespaces []string) (func(namespace string) bool, error)
	Forget(token string)
}

// Applications are those of the hub that have something to say; [hubapps.Watch] knows them.
type Applications interface {
	Applications(allowed func(namespace string) bool) []hubapps.Application
	Synced() bool
}

// Options of a server.
type Options struct {
	Fleet        *model.Fleet
	Applications Applications
	Identity     Identity
	// Synced reports whether the fleet is known since the start.
	Synced func() bool
	// Hosts are the names by which the page is asked for.
	Hosts []string
	// Secure: it is served over TLS, and so is its cookie.
	Secure bool
	// ArgoCDURL is that of the hub's Argo CD; empty: it is not linked to.
	ArgoCDURL string
	// ArgoCDOf returns the address of a managed cluster's Argo CD, "" when it is not
	// known; nil: of none it is.
	ArgoCDOf func(ctx context.Context, cluster string) string
	Log      logr.Logger
	Now      func() time.Time
}

// Server is the page. [New] makes one.
type Server struct {
	Options
	ui       *ui.UI
	sessions *session.Sealer
	hub      *live.Hub
	hosts    map[string]struct{}
	all      *rate.Limiter
	recheck  time.Duration
	ping     time.Duration

	mu    sync.Mutex
	users map[string]*rate.Limiter
	idle  *time.Timer
}

// How often an open stream is looked at.
const (
	recheckEvery = time.Minute
	pingEvery    = 25 * time.Second
)

// forgetAfter is how long the fleet is remembered after the last request.
const forgetAfter = time.Minute

// New returns a server.
func New(o Options) (*Server, error) {
	look, err := ui.New()
	if err != nil {
		return nil, err
	}
	sessions, err := session.New()
	if err != nil {
		return nil, fmt.Errorf("make the page's sessions: %w", err)
	}
	s := &Server{
		Options: o, ui: look, sessions: sessions, hosts: map[string]struct{}{},
		all: rate.NewLimiter(allRate, allBurst), users: map[string]*rate.Limiter{}, recheck: recheckEvery, ping: pingEvery,
	}
	s.hub = live.New(s.used)
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, o.Hosts...) {
		s.hosts[host] = struct{}{}
	}
	return s, nil
}

// Changed tells open pages that an ApplicationSet is different now. It does not block.
func (s *Server) Changed(key types.NamespacedName) {
	s.Fleet.Changed(key)
	s.hub.Changed(key)
}

// ApplicationChanged tells them that an Application of a namespace is.
func (s *Server) ApplicationChanged(namespace string) {
	s.hub.Changed(types.NamespacedName{Namespace: namespace})
}

// Handler returns what serves the page.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /login", s.showLogin)
	m.HandleFunc("POST /login", s.login)
	m.HandleFunc("POST /logout", s.logout)
	m.HandleFunc("GET /assets/{name}", s.asset)
	m.Handle("GET /events", s.visited(s.events))
	for path, page := range map[string]page{
		"/{$}":                               s.fleetPage,
		"/apps":                              s.allApps,
		"/apps/{namespace}/{name}/{cluster}": s.appPage,
		"/sets/{namespace}/{name}":           s.setPage,
		"/clusters":                          s.clustersPage,
		"/clusters/{cluster}":                s.clusterPage,
		"/errors":                            s.errorsPage,
		"/errors/{hash}":                     s.errorPage,
		"/hub":                               s.hubPage,
	} {
		m.Handle("GET "+path, s.visited(s.show(page)))
	}
	for path, answer := range map[string]page{
		"/api/v1/sets":                         s.apiSets,
		"/api/v1/sets/{namespace}/{name}/rows": s.apiRows,
		"/api/v1/clusters/{cluster}":           s.apiCluster,
		"/api/v1/errors":                       s.apiErrors,
		"/api/v1/applications":                 s.apiApplications,
	} {
		m.Handle("GET "+path, s.visited(answerJSON(answer)))
	}
	m.Handle("GET /api/v1/matrix", s.visited(s.matrix))
	m.Handle("/", s.visited(s.show(func(*visit) (any, error) { return nil, notFound("There is no such page.") })))
	return s.guarded(m)
}

// used puts off the time at which the fleet is forgotten.
func (s *Server) used() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = time.AfterFunc(forgetAfter, s.forget)
		return
	}
	s.idle.Reset(forgetAfter)
}

// forget gives back what the fleet remembers, unless a page is open.
func (s *Server) forget() {
	if s.hub.Streams() > 0 {
		s.used()
		return
	}
	s.Fleet.Release()
}
