// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves the page: it reads from memory, asks the API server only who
// a viewer is and what they may see, and changes nothing.
package server

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/live"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/session"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// How often an open stream is looked at.
const (
	recheckEvery = time.Minute
	pingEvery    = 25 * time.Second
)

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

// Changed notifies open pages that an ApplicationSet is different now. It does not block.
func (s *Server) Changed(key types.NamespacedName) {
	s.Fleet.Changed(key)
	s.hub.Changed(key)
}

// ApplicationChanged notifies them that an Application of a namespace is.
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

// forget gives back what the fleet remembers, unless a page is open.
func (s *Server) forget() {
	if s.hub.Streams() > 0 {
		s.used()
		return
	}
	s.Fleet.Release()
}

func compact(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// visited authenticates and authorizes a request before it hands it on.
func (s *Server) visited(next func(*visit)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, r: r, now: s.Now()}
		if r.Header.Get(fragmentHeader) != "" {
			v.moment = s.hub.Moment()
		}
		if err := s.gate.identify(r.Context(), v); err != nil {
			s.refuse(v, err)
			return
		}
		if !s.limits.user(v.viewer.Name).requests.Allow() {
			s.refuse(v, errTooMany)
			return
		}
		if !s.Synced() {
			s.refuse(v, &problem{http.StatusServiceUnavailable, "Reading the fleet", "aggregation has just started and has not read everything yet. This page asks again by itself."})
			return
		}
		if err := s.gate.authorize(r.Context(), v); err != nil {
			s.refuse(v, err)
			return
		}
		next(v)
	})
}

// built makes an answer within the limits and sends it as a whole.
func (s *Server) built(next func(*visit)) func(*visit) {
	return func(v *visit) {
		ctx := v.r.Context()
		end, ok := turn(ctx, s.limits.user(v.viewer.Name).answers, 1)
		if !ok {
			s.refuse(v, errBusy)
			return
		}
		defer end()
		end, ok = turn(ctx, s.limits.building, 1)
		if !ok {
			s.refuse(v, errBusy)
			return
		}
		defer end()
		made := buffered{ResponseWriter: v.w}
		v.w = &made
		next(v)
		made.compress(v.r)
		sent, ok := turn(ctx, s.limits.sending, min(maxSending, int64(made.body.Cap())))
		end()
		if !ok {
			return // without an answer, so that the browser tries again
		}
		defer sent()
		made.send()
	}
}
