// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// An open page keeps the order of its rows, and gets the new order separately.
func TestRows_keepOrderOfOpenPage(t *testing.T) {
	w := newWorld(t)
	order := func(a answer) []string {
		m := regexp.MustCompile(`data-order="([^"]*)"`).FindStringSubmatch(a.body)
		if m == nil {
			t.Fatalf("no order: %s", a.body)
		}
		return strings.Fields(m[1])
	}
	rows := func(a answer) (ids []string) {
		for _, m := range regexp.MustCompile(`data-id="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
			ids = append(ids, m[1])
		}
		return ids
	}
	before := rows(w.get("/sets/team-a/shop?sync=OutOfSync", "all"))
	all := rows(w.get("/sets/team-a/shop", "all"))
	if len(before) != 1 || len(all) != 3 || all[0] != before[0] {
		t.Fatalf("%v of %v", before, all)
	}
	w.put("team-a", "shop", pagetest.Row{Name: "shop-us-1", Cluster: "us-1"})
	w.put("team-a", "shop", pagetest.Row{Name: "shop-eu-2", Cluster: "eu-2", Health: "Degraded"})
	keep := header(rowsHeader, strings.Join(all, " "))
	a := w.get("/sets/team-a/shop", "all", header(fragmentHeader, "summary,rows"), keep)
	if got := rows(a); !slices.Equal(got, all) {
		t.Errorf("rows %v, were %v", got, all)
	}
	if got := order(a); slices.Equal(got, all) || len(got) != 3 {
		t.Errorf("the order %v is still that", got)
	}
	if !strings.Contains(a.body, `data-fragment="summary"`) || strings.Contains(a.body, "<html") || strings.Contains(a.body, `data-fragment="facets"`) {
		t.Errorf("not the parts: %s", a.body)
	}
	a = w.get("/sets/team-a/shop?sync=OutOfSync", "all", header(fragmentHeader, "rows"), header(rowsHeader, before[0]))
	if got := rows(a); !slices.Equal(got, before) || len(order(a)) != 0 || !strings.Contains(a.body, "Healthy") {
		t.Errorf("a row that left the filter: %v, %v", got, order(a))
	}
}

func TestPages_showSinceWhenAClusterIsStale(t *testing.T) {
	w := newWorld(t)
	w.fleet.SetCluster(model.Cluster{Cluster: status.Cluster{Name: "us-1", Exists: true, Since: noon.Add(-30 * time.Minute)}})
	w.put("team-a", "shop", pagetest.Row{Name: "shop-us-1", Cluster: "us-1", Health: "Unknown", Sync: "Unknown",
		Conditions: []v1alpha1.Condition{{Type: model.Unreachable, Message: "cluster us-1 is not available"}}})
	for _, path := range []string{"/sets/team-a/shop", "/clusters/us-1", "/apps/team-a/shop-us-1"} {
		if body := w.get(path, "all").body; !strings.Contains(body, "not") || !strings.Contains(body, "heard of") || !strings.Contains(body, "30 min") {
			t.Errorf("%s does not say so", path)
		}
	}
	if body := w.get("/clusters", "all").body; !strings.Contains(body, "not for") {
		t.Error("the list of clusters does not say so")
	}
	if body := w.get("/clusters/eu-1", "all").body; strings.Contains(body, "not been heard of") {
		t.Error("another cluster is coloured by it")
	}
}
