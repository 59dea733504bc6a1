// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func (w *world) login(token, to string, change ...func(*http.Request)) answer {
	w.t.Helper()
	form := url.Values{"token": {token}, "to": {to}}.Encode()
	return w.do(http.MethodPost, "/login", "", append(change, func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})...)
}

func TestLogin(t *testing.T) {
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

func TestLoginRefuses(t *testing.T) {
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
