// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves the page from memory. It asks the API server only for the viewer, the
// viewer's rights, and the content of one report. It changes nothing.
package server

import (
	"crypto/rand"
	"fmt"
	"net/http"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/session"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
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
		Options: o, ui: look, limits: newLimits(), hosts: map[string]struct{}{}, process: rand.Text(),
		pages: &pages{argo: argo{o.ArgoCDURL}, leases: o.Leases, resources: o.Resources, log: o.Log},
	}
	s.gate = &gate{o.Identity, o.Fleet, sessions, s.limits, o.Secure}
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, o.Hosts...) {
		s.hosts[host] = struct{}{}
	}
	s.forms, err = loginForms(look)
	return s, err
}

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	p := s.pages
	a := api{p}
	m.HandleFunc("GET /login", s.showLogin)
	m.HandleFunc("POST /login", s.login)
	m.HandleFunc("POST /logout", s.logout)
	m.HandleFunc("GET /assets/{name}", s.asset)
	for path, page := range map[string]page{
		"/{$}":                     p.fleetPage,
		"/apps":                    p.allApps,
		"/apps/{namespace}/{name}": p.appPage,
		"/sets/{namespace}/{name}": p.setPage,
		"/clusters":                p.clustersPage,
		"/clusters/{cluster}":      p.clusterPage,
		"/errors":                  p.errorsPage,
		"/errors/{hash}":           p.errorPage,
		"/hub":                     p.hubPage,
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

// visited authenticates and authorizes a request. It calls next unless the client already has the
// present version.
func (s *Server) visited(next func(*visit)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, r: r, now: s.Now()}
		if err := s.gate.identify(r.Context(), v); err != nil {
			s.refuse(v, err)
			return
		}
		if !s.limits.user(v.viewer.Name).requests.Allow() {
			s.refuse(v, errTooMany)
			return
		}
		if !s.Synced() {
			s.refuse(v, &problem{http.StatusServiceUnavailable, "Reading the fleet", "The page has just started and has not read all Applications yet. It asks again by itself."})
			return
		}
		if err := s.gate.authorize(r.Context(), v); err != nil {
			s.refuse(v, err)
			return
		}
		v.version = s.version(v)
		w.Header().Set("ETag", v.version)
		if r.Header.Get("If-None-Match") == v.version {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		next(v)
	})
}

// version changes with everything on which an answer depends, except its address: the viewer's
// rights, the silent controllers, and the minute. The minute counts because pages show the time
// since an event.
func (s *Server) version(v *visit) string {
	silent := ""
	for _, l := range s.pages.silent(v) {
		silent += "-" + l.Controller
	}
	return fmt.Sprintf(`"%s-%s-%d%s"`, s.process, v.fleet.Version, v.now.Unix()/60, silent)
}

// built makes an answer within the limits and sends it when it is complete.
func (s *Server) built(next func(*visit)) func(*visit) {
	return func(v *visit) {
		ctx := v.r.Context()
		user := s.limits.user(v.viewer.Name)
		end, ok := turn(ctx, user.answers, 1)
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
		own := min(maxUserSending, int64(made.body.Cap()))
		if !user.sending.TryAcquire(own) { // to wait would keep others from building
			end()
			s.refuseMade(v, &made)
			return
		}
		defer user.sending.Release(own)
		sent, ok := turn(ctx, s.limits.sending, min(maxSending, int64(made.body.Cap())))
		end()
		if !ok {
			s.refuseMade(v, &made)
			return
		}
		defer sent()
		made.send()
	}
}

// refuseMade refuses a request after its answer was made, if the answer cannot be sent.
func (s *Server) refuseMade(v *visit, made *buffered) {
	made.drop()
	s.refuse(v, errBusy)
	made.send()
}
