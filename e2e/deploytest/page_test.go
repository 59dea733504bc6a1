// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The page is an overlay and a value of the chart; without it nothing of it is there.
func TestPage(t *testing.T) {
	base, with := byIdentity(t, kustomize(t, "ocm")), byIdentity(t, kustomize(t, "page"))
	delete(with, "v1 Namespace /"+namespace)
	if diff := cmp.Diff(with, byIdentity(t, chart(t, "page.enabled=true"))); diff != "" {
		t.Errorf("overlays/page (-) and the chart with page.enabled (+) differ:\n%s", diff)
	}
	var changed []string
	for id := range with {
		if !cmp.Equal(base[id], with[id]) {
			changed = append(changed, id)
		}
	}
	slices.Sort(changed)
	want := []string{
		"apps/v1 Deployment multicluster-integrations/multicluster-integrations",
		"networking.k8s.io/v1 NetworkPolicy multicluster-integrations/multicluster-integrations-page",
		"rbac.authorization.k8s.io/v1 ClusterRole /multicluster-integrations-page",
		"rbac.authorization.k8s.io/v1 ClusterRole /multicluster-integrations-page-viewer",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding /multicluster-integrations-page",
		"v1 Service multicluster-integrations/multicluster-integrations-page",
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("what the page brings: %s", diff)
	}
	for id := range maps.Keys(base) {
		if strings.Contains(id, "page") {
			t.Errorf("%s is there without the page", id)
		}
	}
}

// The page gives aggregation one right, to look.
func TestRightsOfThePage(t *testing.T) {
	for id, o := range byIdentity(t, kustomize(t, "page")) {
		if !strings.HasSuffix(id, "ClusterRole /multicluster-integrations-page") && !strings.HasSuffix(id, "-page-viewer") {
			continue
		}
		rules, _, err := unstructured.NestedSlice(o, "rules")
		if err != nil || len(rules) != 1 {
			t.Fatalf("%s: %v %v", id, rules, err)
		}
		for _, verb := range rules[0].(map[string]any)["verbs"].([]any) {
			if !slices.Contains([]any{"get", "list", "watch"}, verb) {
				t.Errorf("%s may %s", id, verb)
			}
		}
	}
}

// The binary of this commit takes the overlay's flags.
func TestFlagsOfThePage(t *testing.T) {
	args := argsOf(t, find(t, kustomize(t, "page"), "Deployment"), "aggregation")
	if !slices.Contains(args, "--page-bind-address=:8446") {
		t.Fatalf("flags %q", args)
	}
	run(t, product("aggregation"), append(args, "--version")...)
}
