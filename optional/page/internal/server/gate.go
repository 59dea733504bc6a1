// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/session"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// gate authenticates and authorizes requests.
type gate struct {
	identity Identity
	fleet    *model.Fleet
	sessions *session.Sealer
	limits   *limits
	secure   bool
}

// cookieName returns the name of the session's cookie. Browsers accept one with the prefix only
// over TLS.
func (g *gate) cookieName() string {
	if g.secure {
		return "__Host-session"
	}
	return "session"
}

func (g *gate) cookie(value string) *http.Cookie {
	// With Lax, a link in a chat or a mail leads to the page and not to the login. The page changes
	// nothing.
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

// identify authenticates a request by the token that a proxy passes on. Without one, or if the hub
// does not accept it, the session's token counts.
func (g *gate) identify(ctx context.Context, v *visit) error {
	_, token, err := g.sessionOf(v)
	bearer, ok := strings.CutPrefix(v.r.Header.Get("Authorization"), "Bearer ")
	if ok {
		failed := g.authenticate(ctx, v, strings.TrimSpace(bearer))
		if err != nil || !errors.Is(failed, access.ErrUnknown) {
			return failed
		}
	}
	if err != nil {
		return access.ErrUnknown
	}
	return g.authenticate(ctx, v, token)
}

// authenticate returns the user of a token. A token that was never accepted waits in a separate
// queue, so that strangers do not delay other users.
func (g *gate) authenticate(ctx context.Context, v *visit, token string) (err error) {
	refused := func() {}
	if !g.identity.Known(token) {
		var end func()
		if end, refused, err = g.limits.stranger(v.r); err != nil {
			return err
		}
		defer end()
	}
	v.viewer, err = g.identity.Authenticate(ctx, token)
	if errors.Is(err, access.ErrUnknown) {
		refused()
	}
	return err
}

// authorize reviews the rights of a viewer.
func (g *gate) authorize(ctx context.Context, v *visit) error {
	view := g.fleet.View(v.now)
	rights, err := g.identity.Rights(ctx, v.viewer, view.Namespaces)
	if err != nil {
		return err
	}
	if !rights.Any() {
		return errNothing
	}
	v.fleet = view.Overview(rights)
	return nil
}

var errNothing = &problem{
	http.StatusForbidden, "Nothing to see for this account",
	"This account may see no namespace that has an ApplicationSet or Application of the fleet. It needs the right to " + access.Verb + " " + access.Resource + "." + v1alpha1.GroupVersion.Group +
		" in one, which ClusterRole multicluster-integrations-page-viewer has. A new right counts after a minute.",
}

// Identity authenticates viewers and returns their rights. [access.Access] implements it.
type Identity interface {
	// Known reports whether a token was accepted before.
	Known(token string) bool
	Authenticate(ctx context.Context, token string) (*access.Viewer, error)
	Rights(ctx context.Context, v *access.Viewer, namespaces []string) (model.Rights, error)
}
