// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAPI_returnsSetsRowsAndErrors(t *testing.T) {
	w := newWorld(t)
	var sets apiList[apiSet]
	if err := json.Unmarshal([]byte(w.get("/api/v1/sets?size=1", "all").body), &sets); err != nil || sets.Total != 2 || len(sets.Items) != 1 || sets.Next != "/api/v1/sets?page=2&size=1" {
		t.Fatalf("%+v, %v", sets, err)
	}
	if s := sets.Items[0]; s.Name != "bank" || s.Counts.Health["Degraded"] != 3 || s.Counts.Sync["OutOfSync"] != 3 || s.Clusters != 3 {
		t.Errorf("%+v", s)
	}
	var rows apiList[apiRow]
	if err := json.Unmarshal([]byte(w.get("/api/v1/sets/team-a/shop/rows?health=Missing", "all").body), &rows); err != nil || len(rows.Items) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if r := rows.Items[0]; r.Cluster != "us-1" || r.Application != "shop-us-1" || r.Work != "shop-us-1-1a2b3" || r.Links["argocd"] != "https://argocd.example.com/applications/team-a/shop-us-1" ||
		r.Links["managed"] != "https://argocd.us-1.example.com/applications?search=shop-us-1" ||
		r.Links["report"] != "/apis/apps.open-cluster-management.io/v1alpha1/namespaces/team-a/multiclusterapplicationsetreports/shop" || len(r.Conditions) != 1 {
		t.Errorf("%+v", r)
	}
	var errs apiList[apiError]
	if err := json.Unmarshal([]byte(w.get("/api/v1/errors", "all").body), &errs); err != nil || len(errs.Items) != 1 {
		t.Fatalf("%+v, %v", errs, err)
	}
	if e := errs.Items[0]; e.Count != 4 || e.Sets != 2 || e.Clusters != 3 || len(e.Examples) != 4 || !strings.Contains(e.Text, "…") {
		t.Errorf("%+v", e)
	}
}

func TestAPI_searchesLists(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]string{
		"/api/v1/sets?q=SHOP": `"total":1`, "/api/v1/errors?q=quota": `"total":1`, "/api/v1/applications?q=audit": `"total":1`,
		"/api/v1/sets?q=none": `"total":0`, "/api/v1/errors?q=none": `"total":0`, "/api/v1/applications?q=none": `"total":0`,
	} {
		if a := w.get(query, "all"); !strings.Contains(a.body, want) {
			t.Errorf("%s: %.200s", query, a.body)
		}
	}
}
