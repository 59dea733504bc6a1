// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Every role is bound, once, to the pod's identity; every binding has its role.
func TestRolesAndBindingsMatch(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			roles, bound := map[string]bool{}, map[string]int{}
			for _, o := range kustomize(t, v.overlay) {
				switch o.GetKind() {
				case "Role", "ClusterRole":
					roles[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = true
				case "RoleBinding", "ClusterRoleBinding":
					kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
					name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
					bound[kind+" "+o.GetNamespace()+"/"+name]++
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
