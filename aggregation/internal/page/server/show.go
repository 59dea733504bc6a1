// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

const (
	// fragmentHeader asks for parts of a page: summary, facets, rows, divided by commas.
	fragmentHeader = "X-Fragment"
	// rowsHeader names the rows that are shown, by their IDs: these are sent again, in
	// the same order, whatever belongs in their place now.
	rowsHeader = "X-Rows"
)

var fragments = []string{"summary", "facets", "rows"}

// show writes a page, or the parts of it that are asked for.
func (s *Server) show(make page) func(*visit) {
	return func(v *visit) {
		view, err := make(v)
		if err != nil {
			s.refuse(v, err)
			return
		}
		asked := v.r.Header.Get(fragmentHeader)
		if asked == "" {
			s.write(v, http.StatusOK, view)
			return
		}
		body := &bytes.Buffer{}
		name := baseOf(view).Page
		for f := range strings.SplitSeq(asked, ",") {
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

// write renders a whole page before anything of it is sent.
func (s *Server) write(v *visit, code int, view any) {
	body := &bytes.Buffer{}
	if err := s.ui.Page(body, view); err != nil {
		s.Log.Error(err, "cannot render the page", "path", v.r.URL.Path)
		http.Error(v.w, "the page failed; the log of aggregation says why", http.StatusInternalServerError)
		return
	}
	s.send(v, code, body)
}

func (s *Server) send(v *visit, code int, body *bytes.Buffer) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Add("Vary", fragmentHeader)
	v.w.WriteHeader(code)
	_, _ = v.w.Write(body.Bytes()) // the reader is gone: there is nobody to tell
}

// baseOf returns what every view has.
func baseOf(view any) ui.Base {
	b, _ := reflect.ValueOf(view).FieldByName("Base").Interface().(ui.Base)
	return b
}

var menu = []ui.Link{
	{Name: "Fleet", Path: "/"}, {Name: "Applications", Path: "/apps"}, {Name: "Clusters", Path: "/clusters"},
	{Name: "Errors", Path: "/errors"}, {Name: "Not delivered", Path: "/hub"},
}

// base returns what every page has; live is the view that it follows.
func (p *pages) base(v *visit, name, title, live string) ui.Base {
	b := ui.Base{Page: name, Title: title, Live: live, Now: ui.NewWhen(v.now, v.now), Nav: slices.Clone(menu)}
	for i := range b.Nav {
		b.Nav[i].Current = b.Nav[i].Path == v.r.URL.Path
	}
	if v.viewer != nil {
		b.User = v.viewer.Name
	}
	if live != "" && !p.applications.Synced() {
		b.Notices = append(b.Notices, "The hub's Applications have not been read: what is refused, held or paused is missing here. aggregation needs the right to list and watch applications.argoproj.io.")
	}
	return b
}

// asset sends a file whose name changes with its content.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.ui.Asset(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.Type)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.Data) // the reader is gone: there is nobody to tell
}
