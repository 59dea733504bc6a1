// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// olmGrants compares the permissions from OLM and the administrator with the permissions from the
// overlay.
func olmGrants(t *testing.T, bundle *manifests.Bundle, prerequisites, overlay []*unstructured.Unstructured) {
	const own = "multicluster-integrations"
	got := grants(t, prerequisites)
	for where, before := range maps.Clone(got) {
		if strings.HasSuffix(where, " in "+own) || strings.HasSuffix(where, " everywhere") {
			t.Errorf("the administrator grants %s %v, which is OLM's to do", where, before)
		}
	}
	strategy := bundle.CSV.Spec.InstallStrategy.StrategySpec
	for _, granted := range strategy.Permissions {
		add(t, got, granted.ServiceAccountName+" in "+own, granted.Rules)
	}
	for _, granted := range strategy.ClusterPermissions {
		add(t, got, granted.ServiceAccountName+" everywhere", granted.Rules)
	}
	want := grants(t, overlay)
	for where := range maps.Keys(want) {
		if !slices.Equal(got[where], want[where]) {
			t.Errorf("%s the bundle grants\n%q, the overlay\n%q", where, got[where], want[where])
		}
		delete(got, where)
	}
	if len(got) > 0 || len(want) < 6 { // three accounts with ClusterRoles, two Leases, Secrets
		t.Errorf("the bundle grants %v besides what the overlay grants in %d places", got, len(want))
	}
}

// grants are the rules of each account, by where they count.
func grants(t *testing.T, objects []*unstructured.Unstructured) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, binding := range objects {
		if !strings.HasSuffix(binding.GetKind(), "RoleBinding") {
			continue
		}
		var b rbacv1.ClusterRoleBinding // a RoleBinding has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(binding.Object, &b); err != nil {
			t.Fatal(err)
		}
		where := " everywhere"
		if b.Namespace != "" {
			where = " in " + b.Namespace
		}
		for _, o := range objects {
			if o.GetKind() != b.RoleRef.Kind || o.GetName() != b.RoleRef.Name || o.GetNamespace() != b.Namespace {
				continue
			}
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
			for _, s := range b.Subjects {
				add(t, out, s.Name+where, role.Rules)
			}
		}
	}
	return out
}

func add(t *testing.T, to map[string][]string, where string, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		to[where] = append(to[where], string(text))
	}
	slices.Sort(to[where])
}

// olmMakesAll compares the other objects. Each of them is an unchanged object of the overlay, and
// OLM or the administrator creates each object of the overlay.
func olmMakesAll(t *testing.T, bundle *manifests.Bundle, prerequisites, overlay []*unstructured.Unstructured) {
	made := map[string]string{}
	for _, o := range slices.Concat(bundle.Objects, prerequisites) {
		made[whichOf(o)] = jsonOf(t, o.Object)
	}
	deployment := bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	for _, o := range overlay {
		got := made[whichOf(o)]
		delete(made, whichOf(o))
		switch o.GetKind() {
		case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
			continue // see olmGrants
		case "ServiceAccount":
			if o.GetName() == deployment.Spec.Template.Spec.ServiceAccountName {
				continue // OLM makes it
			}
		case "Deployment":
			want := map[string]any{"name": o.GetName(), "label": o.GetLabels(), "spec": o.Object["spec"]}
			csv := find(t, bundle.Objects, "ClusterServiceVersion")
			list, _, err := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
			if err != nil || len(list) != 1 || jsonOf(t, list[0]) != jsonOf(t, want) {
				t.Errorf("the bundle deploys\n%s, the overlay\n%s", jsonOf(t, list), jsonOf(t, want))
			}
			continue
		}
		if want := jsonOf(t, o.Object); got != want {
			t.Errorf("%s is\n%s\nin the overlay\n%s", whichOf(o), got, want)
		}
	}
	for left := range made {
		if !strings.HasPrefix(left, "ClusterServiceVersion ") {
			t.Errorf("the overlay has no %s", left)
		}
	}
}

func objectsOf(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out
}

func find(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return objects[i]
}

func whichOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
