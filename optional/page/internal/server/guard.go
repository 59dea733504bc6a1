// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded adds the checks of every request to a handler.
func (s *Server) guarded(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next) // only the login form is not a GET
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if s.Secure && !isLocal(r.Host) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer s.recover(w, r)
		switch {
		case !s.knownHost(r.Host):
			// An unknown name for this server may belong to an attacker who uses the browser of a
			// logged-in viewer.
			http.Error(w, "this page is not served under that name; --page-host lists the names", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this page only shows", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	s.Log.Error(fmt.Errorf("%v", cause), "cannot serve the page", "path", r.URL.Path, "stack", string(debug.Stack()))
	http.Error(w, "the page failed; the log of the page says why", http.StatusInternalServerError)
}

func (s *Server) knownHost(host string) bool {
	_, ok := s.hosts[hostName(host)]
	return ok
}

// hostName returns the name of a Host header without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// isLocal reports whether a name belongs to the browser's own machine. Other servers use the same
// name, and a browser would then require TLS for them.
func isLocal(host string) bool {
	name := hostName(host)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
