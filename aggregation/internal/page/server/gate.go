// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/session"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

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
	v.namespaces = g.namespaces()
	if v.allowed, err = g.identity.Allowed(ctx, v.viewer, v.namespaces); err != nil {
		return err
	}
	if !v.allowed("") && !slices.ContainsFunc(v.namespaces, v.allowed) {
		return errNothing
	}
	return nil
}

var errNothing = &problem{
	http.StatusForbidden, "Nothing to see for this account",
	"This account may see no namespace that has an ApplicationSet or Application of the fleet. It needs the right to " + access.Verb + " " + access.Resource + "." + v1alpha1.GroupVersion.Group +
		" in one, which ClusterRole multicluster-integrations-page-viewer has.",
}

// Identity says who a viewer is and what they may see; [access.Access] does.
type Identity interface {
	Authenticate(ctx context.Context, token string) (*access.Viewer, error)
	Allowed(ctx context.Context, v *access.Viewer, namespaces []string) (func(namespace string) bool, error)
	Forget(v *access.Viewer)
}
