// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

func TestPages_hideNamespacesOfOthers(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/apps", "/clusters", "/clusters/us-1", "/errors", "/hub", "/api/v1/sets", "/api/v1/errors", "/api/v1/matrix", "/api/v1/clusters/us-1", "/api/v1/applications"} {
		if a := w.get(path, "b"); a.StatusCode != http.StatusOK || strings.Contains(a.body, "shop") || strings.Contains(a.body, "team-a") || strings.Contains(a.body, "audit") {
			t.Errorf("%s of team-b: %s: %s", path, a.Status, a.body)
		}
	}
	for _, path := range []string{"/sets/team-a/shop", "/apps/team-a/shop-us-1", "/api/v1/sets/team-a/shop/rows", "/sets/team-a/none", "/clusters/none", "/errors/none"} {
		if a := w.get(path, "b"); a.StatusCode != http.StatusNotFound || strings.Contains(a.body, "v1.4") {
			t.Errorf("%s of team-b: %s", path, a.Status)
		}
	}
	if a := w.get("/clusters/none", "a"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a cluster without a visible Application: %s", a.Status)
	}
}

const hostile = `<img src=x onerror=alert(1)>"'&{{.}}</textarea><script>alert(2)</script>`

// The page escapes every text from a managed cluster.
func TestPages_escapeHostileText(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Resources = func(context.Context, types.NamespacedName) ([]v1alpha1.ResourceRef, error) {
			return []v1alpha1.ResourceRef{{Kind: hostile, Name: hostile, APIVersion: hostile}}, nil
		}
	})
	w.put("team-a", "shop", pagetest.Row{
		Name: "shop" + hostile, Cluster: "eu-1", Health: "Degraded", Sync: hostile, Revision: hostile, Phase: hostile,
		Conditions: []v1alpha1.Condition{{Type: hostile, Message: hostile}},
	})
	w.fleet.SetCluster(model.Cluster{Cluster: status.Cluster{Name: "eu-1", Exists: true, Message: hostile}})
	w.fleet.Put(pagetest.Undelivered(model.AppFields{Namespace: "team-a", Name: hostile, Cluster: hostile, Set: hostile, State: model.Refused, Message: hostile}))
	app := "/apps/team-a/" + url.PathEscape("shop"+strings.SplitN(hostile, "/", 2)[0])
	for _, path := range append(slices.Clone(paths), "/apps?q="+url.QueryEscape(hostile[:60]), "/clusters/eu-1", app, "/login?to="+url.QueryEscape(hostile)) {
		a := w.get(path, "all")
		if strings.Contains(a.body, "<img") || strings.Contains(a.body, "<script>") || strings.Contains(a.body, "</textarea>") {
			t.Errorf("%s: shown as markup", path)
		}
	}
	for _, path := range []string{"/sets/team-a/shop", "/errors", "/hub"} {
		if !strings.Contains(w.get(path, "all").body, "&lt;img src=x") {
			t.Errorf("%s does not show the text", path)
		}
	}
}

// A command line with any name remains one command when it is pasted into a shell.
func TestShell(t *testing.T) {
	for name, want := range map[string]string{
		"shop-1": "shop-1", "a.b": "a.b", "": "''", "x; rm -rf ~": "'x; rm -rf ~'", "$(id)": "'$(id)'", "it's": `'it'\''s'`, "-o": "'-o'", "a\nb": "'a\nb'",
	} {
		if got := shell(name); got != want {
			t.Errorf("%q becomes %s, want %s", name, got, want)
		}
	}
}

func TestInput_isRejectedIfInvalid(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		path, token string
		change      func(*http.Request)
		code        int
		want        string
	}{
		"no token, page":     {"/sets/team-a/shop?q=a", "", nil, 303, ""},
		"no token, API":      {"/api/v1/sets", "", nil, 401, `{"error":"log in with a token the hub accepts"}`},
		"bad token, API":     {"/api/v1/sets", "x", nil, 401, "log in"},
		"no token, fragment": {"/", "", header(fragmentHeader, "rows"), 401, "log in"},
		"unknown health":     {"/apps?health=Sick", "all", nil, 400, "health=&#34;Sick&#34;: want Degraded"},
		"unknown health API": {"/api/v1/sets/team-a/shop/rows?health=Sick", "all", nil, 400, `want Degraded`},
		"page no number":     {"/apps?page=x", "all", nil, 400, "page="},
		"size too large":     {"/apps?size=10000", "all", nil, 400, "size="},
		"unknown state":      {"/hub?state=Odd", "all", nil, 400, "want Refused"},
		"unknown fragment":   {"/", "all", header(fragmentHeader, "layout"), 400, "no part"},
		"beyond the end":     {"/apps?page=7", "all", nil, 200, "there are no more"},
		"no such page":       {"/odd", "all", nil, 404, "no such page"},
		"foreign host":       {"/", "all", func(r *http.Request) { r.Host = "evil.example.com" }, 421, "--page-host"},
		"own host":           {"/", "all", func(r *http.Request) { r.Host = "Fleet.example.com:8446" }, 200, ""},
		"own path upwards":   {"/assets/..%2fui.go", "all", nil, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*http.Request) {}
			}
			a := w.get(test.path, test.token, change)
			if a.StatusCode != test.code || !strings.Contains(a.body, test.want) {
				t.Errorf("%s, want %d with %q: %s", a.Status, test.code, test.want, a.body)
			}
		})
	}
	if to := w.get("/sets/team-a/shop?q=a", "").Header.Get("Location"); to != "/login?to=%2Fsets%2Fteam-a%2Fshop%3Fq%3Da" {
		t.Errorf("it leads to %s", to)
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "POST", "OPTIONS"} {
		if a := w.do(method, "/sets/team-a/shop", "all"); a.StatusCode < 400 {
			t.Errorf("%s: %s", method, a.Status)
		}
	}
}

// If the API server does not answer a review, the page shows nothing.
func TestPages_showNothingWithoutReview(t *testing.T) {
	w := newWorld(t)
	w.tokens.Fail(access.ErrUnavailable)
	for _, path := range []string{"/", "/sets/team-a/shop", "/api/v1/sets"} {
		a := w.get(path, "all")
		if a.StatusCode != http.StatusServiceUnavailable || strings.Contains(a.body, "shop") || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
	}
}

func TestPages_areUnavailableUntilSynced(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Synced = func() bool { return false } })
	a := w.get("/", "all")
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, `http-equiv="refresh"`) {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

func TestMatrix_isRejectedIfTooLarge(t *testing.T) {
	w := newWorld(t)
	for i := range 1500 {
		name := fmt.Sprintf("s%04d", i)
		w.put("team-a", name, pagetest.Row{Name: name, Cluster: name})
	}
	a := w.get("/api/v1/matrix", "all")
	if a.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, "table of clusters") {
		t.Errorf("%s: %.200s", a.Status, a.body)
	}
}
