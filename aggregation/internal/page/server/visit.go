// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// visit is one request of an authenticated viewer.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	viewer  *access.Viewer
	allowed func(namespace string) bool
	now     time.Time
	// moment is when an open page was told that it has changed, which is why it asks for
	// parts of it; 0: it wants what is there now.
	moment uint64
}

// page makes the view of a page, or says why not.
type page func(*visit) (view any, err error)

// problem is why a page cannot be shown.
type problem struct {
	code          int
	heading, text string
}

func (p *problem) Error() string { return p.text }

var (
	errTooMany = &problem{http.StatusTooManyRequests, "Too many requests", "Too many requests; try again in a second."}
	errBusy    = &problem{http.StatusServiceUnavailable, "Too many requests", "aggregation has too many requests to answer; try again in a moment."}
)

func notFound(text string) error {
	return &problem{http.StatusNotFound, "Not found", text}
}

func wrongQuery(err error) error {
	return &problem{http.StatusBadRequest, "This address cannot be followed", err.Error()}
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

// refuse answers a request that cannot be served.
func (s *Server) refuse(v *visit, err error) {
	var p *problem
	switch {
	case errors.Is(err, access.ErrUnknown):
		if isAPI(v.r) {
			writeError(v.w, http.StatusUnauthorized, access.ErrUnknown)
			return
		}
		http.Redirect(v.w, v.r, "/login?to="+url.QueryEscape(v.r.URL.RequestURI()), http.StatusSeeOther)
		return
	case errors.As(err, &p):
	case v.r.Context().Err() != nil:
		return // the client has gone
	case errors.Is(err, access.ErrUnavailable):
		s.Log.Error(err, "cannot review the token of a reader of the page")
		p = &problem{http.StatusServiceUnavailable, "The hub does not answer", access.ErrUnavailable.Error()}
	default:
		s.Log.Error(err, "cannot show the page", "path", v.r.URL.Path)
		p = &problem{http.StatusInternalServerError, "The page failed", "The log of aggregation says why."}
	}
	view := ui.Problem{Base: s.pages.base(v, "problem", p.heading, ""), Heading: p.heading, Text: p.text}
	if p.code == http.StatusServiceUnavailable || p.code == http.StatusTooManyRequests {
		v.w.Header().Set("Retry-After", "2")
		view.Base.Refresh = 2
	}
	if isAPI(v.r) {
		writeError(v.w, p.code, errors.New(p.text))
		return
	}
	s.write(v, p.code, view)
}

func isAPI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/events" || r.Header.Get(fragmentHeader) != ""
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // the reader is gone: there is nobody to tell
}

// sets returns the ApplicationSets that the viewer may see.
func (p *pages) sets(v *visit) []*model.Set { return p.fleet.Sets(v.allowed) }

// query reads what the address asks for.
func (v *visit) query() (model.Query, error) {
	q, err := model.ParseQuery(v.r.URL.Query())
	if err != nil {
		return q, wrongQuery(err)
	}
	return q, nil
}
