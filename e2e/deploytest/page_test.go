// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The component, the overlay and the chart value of the page give the same objects and change no other
// object.
func TestPage_isOffUnlessInstalled(t *testing.T) {
	if diff := cmp.Diff(byIdentity(t, kustomize(t, "ocm", "page")), byIdentity(t, kustomize(t, "page"))); diff != "" {
		t.Errorf("overlay ocm with the component (-) and overlay page (+) differ:\n%s", diff)
	}
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			plain, on := byIdentity(t, kustomize(t, v.overlay)), byIdentity(t, kustomize(t, v.overlay, "page"))
			rendered := byIdentity(t, chart(t, append([]string{"page.enabled=true"}, v.values...)...))
			rendered["v1 Namespace /"+namespace] = on["v1 Namespace /"+namespace]
			if diff := cmp.Diff(on, rendered); diff != "" {
				t.Errorf("the component (-) and the chart with page.enabled (+) differ:\n%s", diff)
			}
			for id, o := range plain {
				if !cmp.Equal(o, on[id]) {
					t.Errorf("it changes %s", id)
				}
			}
		})
	}
}

// The page may only read, and create reviews.
func TestPage_onlyReadsAndReviews(t *testing.T) {
	seen := 0
	for id, o := range byIdentity(t, kustomize(t, "page")) {
		if !strings.Contains(id, "Role ") || !strings.Contains(id, "/multicluster-integrations-page") {
			continue
		}
		seen++
		for _, rule := range field(t, o, "rules").([]any) {
			r := rule.(map[string]any)
			for _, verb := range r["verbs"].([]any) {
				review := verb == "create" && cmp.Equal(r["resources"], []any{"tokenreviews"}) || verb == "create" && cmp.Equal(r["resources"], []any{"subjectaccessreviews"})
				if !slices.Contains([]any{"get", "list", "watch"}, verb) && !review {
					t.Errorf("%s may %s %s", id, verb, r["resources"])
				}
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d roles", seen)
	}
}
