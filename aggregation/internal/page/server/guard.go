// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"compress/gzip"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/time/rate"
)

// Requests a second, of all and of one user, and how many may come at once: a browser that
// opens a user's pages again asks for all of them, their styles and their streams in one moment.
const (
	allRate   = 100
	allBurst  = 300
	userRate  = 20
	userBurst = 60
	maxUsers  = 1000
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded puts what holds for every request around a handler.
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
		defer s.recover(w, r)
		switch {
		case !s.knownHost(r.Host):
			// A name that leads here without our knowledge may be an attacker's, with
			// the browser of somebody who is logged in.
			http.Error(w, "this page is not served under that name; --page-host lists the names", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this page only shows", http.StatusMethodNotAllowed)
		case !s.all.Allow():
			tooMany(w)
		default:
			s.used()
			compressed(next).ServeHTTP(w, r)
		}
	})
}

func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return
	}
	s.Log.Error(fmt.Errorf("%v", cause), "cannot serve the page", "path", r.URL.Path, "stack", string(debug.Stack()))
	http.Error(w, "the page failed; the log of aggregation says why", http.StatusInternalServerError)
}

func tooMany(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too many requests; try again in a second", http.StatusTooManyRequests)
}

func (s *Server) knownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, ok := s.hosts[strings.ToLower(strings.Trim(host, "[]"))]
	return ok
}

// allows reports whether a user may ask once more now.
func (s *Server) allows(user string) bool {
	s.mu.Lock()
	limit := s.users[user]
	if limit == nil {
		if len(s.users) >= maxUsers {
			clear(s.users) // everybody begins anew, which costs less than to remember them all
		}
		limit = rate.NewLimiter(userRate, userBurst)
		s.users[user] = limit
	}
	s.mu.Unlock()
	return limit.Allow()
}

// compressed sends what can be compressed so to who takes it. A stream is not.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		z := &gzipWriter{ResponseWriter: w}
		defer z.close()
		next.ServeHTTP(z, r)
	})
}

// compressors are kept, since each has a good half of a MiB of its own.
var compressors = sync.Pool{New: func() any {
	to, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	return to
}}

type gzipWriter struct {
	http.ResponseWriter
	to     *gzip.Writer
	header bool
}

func (z *gzipWriter) WriteHeader(code int) {
	if !z.header && code >= http.StatusOK && code != http.StatusNoContent && (code < 300 || code >= 400) {
		z.Header().Set("Content-Encoding", "gzip")
		z.Header().Add("Vary", "Accept-Encoding")
		z.Header().Del("Content-Length")
		if to, ok := compressors.Get().(*gzip.Writer); ok {
			to.Reset(z.ResponseWriter)
			z.to = to
		}
	}
	z.header = true
	z.ResponseWriter.WriteHeader(code)
}

func (z *gzipWriter) Write(b []byte) (int, error) {
	if !z.header {
		if z.Header().Get("Content-Type") == "" {
			z.Header().Set("Content-Type", http.DetectContentType(b))
		}
		z.WriteHeader(http.StatusOK)
	}
	if z.to == nil {
		return z.ResponseWriter.Write(b)
	}
	return z.to.Write(b)
}

func (z *gzipWriter) close() {
	if z.to != nil {
		_ = z.to.Close() // the reader is gone: there is nobody to tell
		compressors.Put(z.to)
	}
}
