// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Every role is bound, once, to the identity of its binary; every binding has its role.
func TestRolesAndBindingsMatch(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			objects := kustomize(t, v.overlay)
			roles, bound := map[string]bool{}, map[string]int{}
			for _, o := range objects {
				switch o.GetKind() {
				case "Role", "ClusterRole":
					roles[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = true
				case "RoleBinding", "ClusterRoleBinding":
					kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
					name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
					bound[kind+" "+o.GetNamespace()+"/"+name]++
					subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
					want := []any{map[string]any{
						"kind": "ServiceAccount", "namespace": namespace,
						"name": credentialOf(t, objects, strings.TrimPrefix(name, namespace+"-")).account,
					}}
					if diff := cmp.Diff(want, subjects); diff != "" {
						t.Errorf("%s gives %s to others than its binary:\n%s", identity(o), name, diff)
					}
				}
			}
			for role := range roles {
				if bound[role] != 1 {
					t.Errorf("%s is bound %d times, want once", role, bound[role])
				}
			}
			for role := range bound {
				if !roles[role] {
					t.Errorf("%s is bound but not there", role)
				}
			}
		})
	}
}

// What a container that reads other systems' answers must not be able to do.
func TestReadersStayReaders(t *testing.T) {
	asks := []string{"tokenreviews", "subjectaccessreviews"} // questions: nothing is stored
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

// What no binary may ever hold, whatever its markers say.
func TestRolesAreNarrow(t *testing.T) {
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
				if slices.Contains(groups, "rbac.authorization.k8s.io") {
					t.Errorf("%s may touch roles: %v", identity(o), rule)
				}
			}
		}
	}
}
