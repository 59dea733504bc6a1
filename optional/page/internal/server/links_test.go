// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/time/rate"
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
