// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/session"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// maxForm is how long the login form may be.
const maxForm = 8 << 10

func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	s.askToken(w, r, http.StatusOK, "", r.URL.Query().Get("to"))
}

func (s *Server) askToken(w http.ResponseWriter, r *http.Request, code int, complaint, to string) {
	v := &visit{w: w, r: r, now: s.Now()}
	s.write(v, code, ui.Login{
		Base: s.pages.base(v, "login", "Log in", ""), Problem: complaint, To: ownPath(to),
		Command: "kubectl create token ACCOUNT -n NAMESPACE --duration 1h",
	})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.askToken(w, r, http.StatusBadRequest, "This form is too large or not one.", "")
		return
	}
	token, to := strings.TrimSpace(r.PostFormValue("token")), ownPath(r.PostFormValue("to"))
	if len(token) > session.MaxToken {
		s.askToken(w, r, http.StatusBadRequest, "This token is too long for a browser's cookie. Use one with fewer groups, or an OAuth proxy in front.", to)
		return
	}
	failures := s.limits.failuresOf(r)
	if failures.Tokens() < 1 {
		s.askToken(w, r, http.StatusTooManyRequests, errTooMany.text, to)
		return
	}
	viewer, err := s.Identity.Authenticate(r.Context(), token)
	_ = failed(failures, err)
	switch {
	case errors.Is(err, access.ErrUnknown):
		s.askToken(w, r, http.StatusUnauthorized, "The hub does not accept this token; it may have expired.", to)
		return
	case err != nil:
		s.Log.Error(err, "cannot review the token of a login")
		s.askToken(w, r, http.StatusServiceUnavailable, access.ErrUnavailable.Error(), to)
		return
	}
	s.Identity.Forget(viewer) // what was granted since counts at once
	http.SetCookie(w, s.gate.cookie(s.gate.sessions.Seal(token, s.Now())))
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // ownPath has made it a path of this page
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, _, err := s.gate.sessionOf(&visit{r: r, now: s.Now()}); err == nil {
		s.gate.sessions.End(cookie)
	}
	c := s.gate.cookie("") //nolint:gosec // as below
	c.Expires, c.MaxAge = time.Unix(1, 0), -1
	http.SetCookie(w, c)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// ownPath returns a path of this page, so that a login leads nowhere else.
func ownPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(u.Path, "/login") || strings.HasPrefix(u.Path, "/logout") {
		return "/"
	}
	return to
}
