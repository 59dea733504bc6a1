// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves the page: it reads from memory, asks the API server only who
// a viewer is and what they may see, and changes nothing.
package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
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
	Forget(v *access.Viewer)
}

// Applications are those of the hub that have something to say; [hubapps.Watch] knows them.
type Applications interface {
	Applications(allowed func(namespace string) bool) []*hubapps.Application
	// Namespaces returns those that have some, in no order, and maybe twice.
	Namespaces() []string
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

// pages makes views of what a viewer may see.
type pages struct {
	fleet        *model.Fleet
	applications Applications
	argo         argo
}

// Server is the page. [New] makes one.
type Server struct {
	Options
	ui      *ui.UI
	pages   *pages
	gate    *gate
	limits  *limits
	hub     *live.Hub
	hosts   map[string]struct{}
	recheck time.Duration
	ping    time.Duration
	idle    *time.Timer
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
		Options: o, ui: look, pages: &pages{fleet: o.Fleet, applications: o.Applications, argo: argo{o.ArgoCDURL, o.ArgoCDOf}}, limits: newLimits(), hosts: map[string]struct{}{}, recheck: recheckEvery, ping: pingEvery,
	}
	s.gate = &gate{o.Identity, sessions, s.limits, o.Secure, func() []string { return compact(append(o.Fleet.Namespaces(), o.Applications.Namespaces()...)) }}
	s.idle = time.AfterFunc(forgetAfter, s.forget)
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
	p := s.pages
	a := api{p}
	m.HandleFunc("GET /login", s.showLogin)
	m.HandleFunc("POST /login", s.login)
	m.HandleFunc("POST /logout", s.logout)
	m.HandleFunc("GET /assets/{name}", s.asset)
	m.Handle("GET /events", s.visited(s.events))
	for path, page := range map[string]page{
		"/{$}":                               p.fleetPage,
		"/apps":                              p.allApps,
		"/apps/{namespace}/{name}/{cluster}": p.appPage,
		"/sets/{namespace}/{name}":           p.setPage,
		"/clusters":                          p.clustersPage,
		"/clusters/{cluster}":                p.clusterPage,
		"/errors":                            p.errorsPage,
		"/errors/{hash}":                     p.errorPage,
		"/hub":                               p.hubPage,
	} {
		m.Handle("GET "+path, s.visited(s.built(s.show(page))))
	}
	for path, answer := range map[string]page{
		"/api/v1/sets":                         a.sets,
		"/api/v1/sets/{namespace}/{name}/rows": a.rows,
		"/api/v1/clusters/{cluster}":           a.cluster,
		"/api/v1/errors":                       a.errors,
		"/api/v1/applications":                 a.applications,
	} {
		m.Handle("GET "+path, s.visited(s.built(answerJSON(answer))))
	}
	m.Handle("GET /api/v1/matrix", s.visited(s.built(s.matrix)))
	m.Handle("/", s.visited(s.built(s.show(func(*visit) (any, error) { return nil, notFound("There is no such page.") }))))
	return s.guarded(m)
}

// used puts off the time at which the fleet is forgotten.
func (s *Server) used() { s.idle.Reset(forgetAfter) }

// forget gives back what the fleet remembers, unless a page is open.
func (s *Server) forget() {
	if s.hub.Streams() > 0 {
		s.used()
		return
	}
	s.Fleet.Release()
}
