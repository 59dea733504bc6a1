// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A container that reads other systems' answers must not write. Only propagation reads Secrets and writes
// ManifestWorks.
func TestRights_letNoReaderWrite(t *testing.T) {
	asks := []string{"tokenreviews", "subjectaccessreviews"} // reviews, which are not stored
	for r := range grantedRights(t, kustomize(t, "ocm")) {
		reads := slices.Contains([]string{"get", "list", "watch"}, r.verb)
		if r.binary == "resourcesync" && !reads && !slices.Contains(asks, r.resource) {
			t.Errorf("resourcesync parses what a remote service answers and may write: %s", r)
		}
		if r.binary != "propagation" && (r.resource == "secrets" || r.resource == "manifestworks" && !reads) {
			t.Errorf("only propagation reads Secrets and writes ManifestWorks, but: %s", r)
		}
	}
}

// No role has a wildcard, a permission that grants permissions, or the Secrets or ConfigMaps of all
// namespaces.
func TestRights_areNarrow(t *testing.T) {
	for _, v := range variants {
		for _, o := range kustomize(t, v.overlay) {
			if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
				continue
			}
			rules, _, err := unstructured.NestedSlice(o.Object, "rules")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rules {
				rule := r.(map[string]any)
				groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
				resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
				verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
				for _, words := range [][]string{groups, resources, verbs} {
					if slices.Contains(words, "*") {
						t.Errorf("%s has a wildcard: %v", identity(o), rule)
					}
				}
				for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
					if slices.Contains(verbs, verb) {
						t.Errorf("%s may %s: %v", identity(o), verb, rule)
					}
				}
				if o.GetKind() == "ClusterRole" && (slices.Contains(resources, "secrets") || slices.Contains(resources, "configmaps")) {
					t.Errorf("%s reads %v in every namespace", identity(o), resources)
				}
				if named, _, _ := unstructured.NestedStringSlice(rule, "resourceNames"); o.GetNamespace() == "argocd" && slices.Contains(resources, "configmaps") && !slices.Equal(named, []string{"argocd-cm"}) {
					t.Errorf("%s reads more of Argo CD's ConfigMaps than its settings: %v", identity(o), rule)
				}
				if slices.Contains(groups, "rbac.authorization.k8s.io") {
					t.Errorf("%s may touch roles: %v", identity(o), rule)
				}
			}
		}
	}
}
