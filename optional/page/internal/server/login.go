// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/session"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
)

// maxForm is the highest number of bytes of the login form.
const maxForm = 8 << 10

// These are the complaints of the login form.
const (
	noForm       = "This form is too large or not one."
	longToken    = "This token is too long for a browser's cookie. Use one with fewer groups, or an OAuth proxy in front."
	unknownToken = "The hub does not accept this token; it may have expired."
)

// loginForms renders the login form with each complaint. So showing it to a stranger costs nothing.
func loginForms(look *ui.UI) (map[string][]byte, error) {
	forms := map[string][]byte{}
	for _, complaint := range []string{"", noForm, longToken, unknownToken, errTooMany.text, errBusy.text, access.ErrUnavailable.Error()} {
		var form bytes.Buffer
		err := look.Page(&form, ui.Login{
			Base: ui.Base{Page: "login", Title: "Log in"}, Problem: complaint, Command: "kubectl create token ACCOUNT -n NAMESPACE --duration 1h",
		})
		if err != nil {
			return nil, fmt.Errorf("make the login: %w", err)
		}
		forms[complaint] = form.Bytes()
	}
	return forms, nil
}

// showLogin shows the form. A viewer with a session is redirected.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	v := &visit{w: w, r: r, now: s.Now()}
	if _, token, err := s.gate.sessionOf(v); err == nil {
		switch err := s.gate.authenticate(r.Context(), v, token); {
		case err == nil:
			http.Redirect(w, r, ownPath(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // ownPath returns a path of this page
			return
		case !errors.Is(err, access.ErrUnknown):
			s.refuse(v, err)
			return
		}
	}
	s.askToken(w, http.StatusOK, "")
}

func (s *Server) askToken(w http.ResponseWriter, code int, complaint string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(s.forms[complaint]) // the client has disconnected and cannot get the error
}

// login accepts a token. The form is sent to its own address, which has the path of the next page.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.askToken(w, http.StatusBadRequest, noForm)
		return
	}
	token := strings.TrimSpace(r.PostFormValue("token"))
	if len(token) > session.MaxToken {
		s.askToken(w, http.StatusBadRequest, longToken)
		return
	}
	err := s.gate.authenticate(r.Context(), &visit{w: w, r: r, now: s.Now()}, token)
	p := (*problem)(nil)
	switch {
	case err == nil:
	case errors.Is(err, access.ErrUnknown):
		s.askToken(w, http.StatusUnauthorized, unknownToken)
		return
	case errors.As(err, &p):
		s.askToken(w, p.code, p.text)
		return
	default:
		s.Log.Error(err, "cannot review the token of a login")
		s.askToken(w, http.StatusServiceUnavailable, access.ErrUnavailable.Error())
		return
	}
	http.SetCookie(w, s.gate.cookie(s.gate.sessions.Seal(token, s.Now())))
	http.Redirect(w, r, ownPath(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // ownPath returns a path of this page
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

// ownPath returns a path of this page, so that a login redirects to no other site.
func ownPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(u.Path, "/login") || strings.HasPrefix(u.Path, "/logout") {
		return "/"
	}
	return to
}
