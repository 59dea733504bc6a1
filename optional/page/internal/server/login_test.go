// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
)

func (w *world) login(token, to string, change ...func(*http.Request)) answer {
	w.t.Helper()
	form := url.Values{"token": {token}}.Encode()
	return w.do(http.MethodPost, "/login?to="+url.QueryEscape(to), "", append(change, func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})...)
}

func TestLogin_opensASession(t *testing.T) {
	for _, secure := range []bool{true, false} {
		w := newWorld(t, func(o *Options) { o.Secure = secure })
		a := w.login(" a\n", "/sets/team-a/shop?q=a")
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/sets/team-a/shop?q=a" || len(a.Cookies()) != 1 {
			t.Fatalf("%s %v", a.Status, a.Header)
		}
		c := a.Cookies()[0]
		if !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 0 || c.Domain != "" || secure != strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("cookie %+v", c)
		}
		with := func(r *http.Request) { r.AddCookie(c) }
		if a := w.get("/sets/team-a/shop", "", with); a.StatusCode != http.StatusOK {
			t.Errorf("with the cookie: %s", a.Status)
		}
		if a := w.get("/sets/team-a/shop", "a-token-of-the-ingress", with); a.StatusCode != http.StatusOK {
			t.Errorf("with the cookie behind a header that the hub does not know: %s", a.Status)
		}
		a = w.do(http.MethodPost, "/logout", "", with)
		if c := a.Cookies(); a.StatusCode != http.StatusSeeOther || len(c) != 1 || c[0].MaxAge >= 0 {
			t.Errorf("logout: %s %v", a.Status, a.Cookies())
		}
		if a := w.get("/", "", with); a.StatusCode != http.StatusSeeOther {
			t.Errorf("with the cookie after the logout: %s", a.Status)
		}
	}
}

func TestLogin_rejectsBadRequests(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		token  string
		change func(*http.Request)
		code   int
		want   string
	}{
		"unknown":   {"x", nil, 401, "does not accept"},
		"empty":     {"", nil, 401, "does not accept"},
		"too long":  {strings.Repeat("x", 3000), nil, 400, "too long"},
		"huge form": {strings.Repeat("x", 20000), nil, 400, "too large"},
		"foreign":   {"a", header("Sec-Fetch-Site", "cross-site"), 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*http.Request) {}
			}
			a := w.login(test.token, "/", change)
			if a.StatusCode != test.code || !strings.Contains(a.body, test.want) || len(a.Cookies()) > 0 {
				t.Errorf("%s %v: %s", a.Status, a.Cookies(), a.body)
			}
		})
	}
	for _, to := range []string{"//evil.example.com", "///evil.example.com", "https://evil.example.com/", "/\\evil.example.com", "evil", "", "/login", "/logout", "/a\r\nSet-Cookie: x", "\t//evil"} {
		if got := ownPath(to); got != "/" {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

// The login page redirects a viewer with a session. If the API server does not answer, the page returns 503
// and does not ask for another login.
func TestLogin_redirectsWithASession(t *testing.T) {
	w := newWorld(t)
	c := w.login("a", "/").Cookies()[0]
	with := func(r *http.Request) { r.AddCookie(c) }
	if a := w.get("/login?to=/clusters", "", with); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/clusters" {
		t.Errorf("with a session: %s to %s", a.Status, a.Header.Get("Location"))
	}
	w.tokens.Fail(access.ErrUnavailable)
	for _, path := range []string{"/login?to=/clusters", "/clusters"} {
		if a := w.get(path, "", with); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Location") != "" {
			t.Errorf("%s without an API server: %s to %s", path, a.Status, a.Header.Get("Location"))
		}
	}
	w.tokens.Fail(nil)
	if a := w.get("/clusters", "", with); a.StatusCode != http.StatusOK {
		t.Errorf("once it answers: %s", a.Status)
	}
	w.tokens.Revoke("a")
	if a := w.get("/login?to=/clusters", "", with); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "<form") {
		t.Errorf("with a token that is no longer accepted: %s", a.Status)
	}
}
