// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
)

var fragments = []string{"notices", "summary", "facets", "rows", "leases"}

// show writes a page, or its requested parts.
func (s *Server) show(make page) func(*visit) {
	return func(v *visit) {
		view, err := make(v)
		if err != nil {
			s.refuse(v, err)
			return
		}
		selected := v.r.Header.Get(fragmentHeader)
		if selected == "" {
			s.write(v, http.StatusOK, view)
			return
		}
		body := &bytes.Buffer{}
		name := baseOf(view).Page
		for f := range strings.SplitSeq(selected, ",") {
			if !slices.Contains(fragments, f) || !s.ui.HasFragment(name, f) {
				s.refuse(v, wrongQuery(fmt.Errorf("%s: this page has no part %q", fragmentHeader, f)))
				return
			}
			fmt.Fprintf(body, "<div data-fragment=%q>", f)
			if err := s.ui.Fragment(body, name, f, view); err != nil {
				s.refuse(v, err)
				return
			}
			body.WriteString("</div>\n")
		}
		s.send(v, http.StatusOK, body)
	}
}

// write renders a whole page before it sends anything.
func (s *Server) write(v *visit, code int, view any) {
	body := &bytes.Buffer{}
	if err := s.ui.Page(body, view); err != nil {
		s.Log.Error(err, "cannot render the page", "path", v.r.URL.Path)
		http.Error(v.w, "the page failed; the log of the page says why", http.StatusInternalServerError)
		return
	}
	s.send(v, code, body)
}

func (s *Server) send(v *visit, code int, body *bytes.Buffer) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Add("Vary", fragmentHeader)
	v.w.WriteHeader(code)
	_, _ = v.w.Write(body.Bytes()) // the client has disconnected and cannot get the error
}

// baseOf returns the Base of a view.
func baseOf(view any) ui.Base {
	b, _ := reflect.ValueOf(view).FieldByName("Base").Interface().(ui.Base)
	return b
}

// asset sends a file with a name that changes with its content.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.ui.Asset(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.Type)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.Data) // the client has disconnected and cannot get the error
}

// refuse answers a request that cannot be served.
func (s *Server) refuse(v *visit, err error) {
	v.w.Header().Del("ETag") // a client that has the refusal requests the page again
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
		return // the client has disconnected
	case errors.Is(err, access.ErrUnavailable):
		s.Log.Error(err, "cannot review the token of a reader of the page")
		p = &problem{http.StatusServiceUnavailable, "The hub does not answer", access.ErrUnavailable.Error()}
	default:
		s.Log.Error(err, "cannot show the page", "path", v.r.URL.Path)
		p = &problem{http.StatusInternalServerError, "The page failed", "The log of the page says why."}
	}
	view := ui.Problem{Base: s.pages.base(v, "problem", p.heading), Heading: p.heading, Text: p.text}
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
