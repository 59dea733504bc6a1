// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/session"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// maxForm is how long the login form may be.
const maxForm = 8 << 10

// gate authenticates and authorizes requests.
type gate struct {
	identity Identity
	sessions *session.Sealer
	limits   *limits
	secure   bool
	// namespaces returns those that there is something to see of, sorted.
	namespaces func() []string
}

// cookieName is the session's; browsers take one with the prefix over TLS only.
func (g *gate) cookieName() string {
	if g.secure {
		return "__Host-session"
	}
	return "session"
}

func (g *gate) cookie(value string) *http.Cookie {
	// Lax: a link in a chat or a mail leads to the page, not to the login. The page only shows.
	return &http.Cookie{Name: g.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: g.secure, SameSite: http.SameSiteLaxMode} //nolint:gosec // plain text is for loopback only, see Flags.Validate
}

// sessionOf returns the token of a request's session.
func (g *gate) sessionOf(v *visit) (cookie, token string, err error) {
	c, err := v.r.Cookie(g.cookieName())
	if err != nil {
		return "", "", session.ErrInvalid
	}
	token, err = g.sessions.Open(c.Value, v.now)
	return c.Value, token, err
}

// identify authenticates a request by the token that a proxy in front passes on, else, also
// when the hub does not know that one, by the session's.
func (g *gate) identify(ctx context.Context, v *visit) error {
	_, token, err := g.sessionOf(v)
	bearer, ok := strings.CutPrefix(v.r.Header.Get("Authorization"), "Bearer ")
	if err != nil && !ok {
		return access.ErrUnknown
	}
	failures := g.limits.failuresOf(v.r)
	if err != nil && failures.Tokens() < 1 { // who has a session has had a token
		return errTooMany
	}
	if ok {
		v.viewer, err = g.identity.Authenticate(ctx, strings.TrimSpace(bearer))
		if !errors.Is(err, access.ErrUnknown) || token == "" {
			return failed(failures, err)
		}
	}
	v.viewer, err = g.identity.Authenticate(ctx, token)
	return failed(failures, err)
}

// failed counts a token that the hub does not know.
func failed(failures *rate.Limiter, err error) error {
	if errors.Is(err, access.ErrUnknown) {
		failures.Allow()
	}
	return err
}

func (g *gate) authorize(ctx context.Context, v *visit) (err error) {
	namespaces := g.namespaces()
	if v.allowed, err = g.identity.Allowed(ctx, v.viewer, namespaces); err != nil {
		return err
	}
	if !v.allowed("") && !slices.ContainsFunc(namespaces, v.allowed) {
		return errNothing
	}
	return nil
}

var errNothing = &problem{
	http.StatusForbidden, "Nothing to see for this account",
	"This account may see no namespace that has an ApplicationSet or Application of the fleet. It needs the right to " + access.Verb + " " + access.Resource + "." + v1alpha1.GroupVersion.Group +
		" in one, which ClusterRole multicluster-integrations-page-viewer has.",
}

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
