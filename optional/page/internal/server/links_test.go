// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
)

var hrefs = regexp.MustCompile(`href="(/[^"#]*)"`)

// links returns the page's links that begin with a prefix.
func (a answer) links(prefix string) (found []string) {
	for _, m := range hrefs.FindAllStringSubmatch(a.body, -1) {
		if path := strings.ReplaceAll(m[1], "&amp;", "&"); strings.HasPrefix(path, prefix) {
			found = append(found, path)
		}
	}
	return found
}

// From the first page, two clicks lead to three kubectl commands about a failing Application, without a
// script.
func TestLinks_leadToKubectlInTwoClicks(t *testing.T) {
	w := newWorld(t)
	for _, first := range []string{"/errors/", "/sets/", "/apps?health=Degraded"} {
		existing := w.get("/", "all").links(first)
		if len(existing) == 0 {
			t.Fatalf("the first page does not lead to %s", first)
		}
		apps := w.get(existing[0], "all").links("/apps/")
		if len(apps) == 0 {
			t.Fatalf("%s leads to no Application", existing[0])
		}
		if n := strings.Count(w.get(apps[0], "all").body, "<code>kubectl "); n != 3 {
			t.Errorf("%s has %d lines", apps[0], n)
		}
	}
}

// After a restore or a move of the hub, an Application has another UID than the name of its ManifestWork.
func TestAppPage_findsTheManifestWork(t *testing.T) {
	w := newWorld(t)
	w.fleet.Put(pagetest.Undelivered(model.AppFields{Namespace: "team-a", Name: "drawn", Cluster: "eu-1", Work: "drawn-1a2b3", State: model.Rendered}))
	body := html.UnescapeString(w.get("/apps/team-a/shop-eu-1", "all").body)
	want := `kubectl get manifestworks.work.open-cluster-management.io -n eu-1 -o json | jq --arg app 'team-a/shop-eu-1' ` +
		`'.items[] | select(.metadata.annotations | .["apps.open-cluster-management.io/hub-application-namespace"] + "/" + ` +
		`.["apps.open-cluster-management.io/hub-application-name"] == $app)'`
	if !strings.Contains(body, "<code>"+want+"</code>") || strings.Contains(body, "shop-eu-1-1a2b3") {
		t.Errorf("the page does not have the command %s, or it names a ManifestWork: %s", want, body)
	}
	body = w.get("/apps/team-a/drawn", "all").body
	if !strings.Contains(body, "kubectl get manifestworks.work.open-cluster-management.io drawn-1a2b3 -n eu-1 -o yaml") || !strings.Contains(body, "<code>eu-1/drawn-1a2b3</code>") {
		t.Errorf("the page does not name the ManifestWork of a rendered Application: %s", body)
	}
}

func TestLinks_areNotBroken(t *testing.T) {
	w := newWorld(t)
	w.server.limits.user("all").requests = rate.NewLimiter(rate.Inf, 1)
	seen, todo := map[string]bool{}, []string{"/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a := w.get(path, "all")
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, a.Status)
		}
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") && len(seen) < 400 {
			todo = append(todo, a.links("/")...)
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d pages", len(seen))
	}
}
