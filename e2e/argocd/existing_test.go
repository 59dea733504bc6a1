// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// existing returns the objects of a newer Argo CD than the offered one, with settings of its users.
func existing(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := env.ReadObjects(scenario.CoreInstall(true))
	must(t, err)
	for _, o := range objects {
		switch o.GetKind() {
		case "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding":
		default:
			o.SetNamespace(env.ArgoCDNamespace)
		}
		switch o.GetName() {
		case "argocd-cm":
			must(t, unstructured.SetNestedStringMap(o.Object, map[string]string{"resource.respectRBAC": "strict", "accounts.alice": "login"}, "data"))
		case "argocd-secret":
			must(t, unstructured.SetNestedStringMap(o.Object, map[string]string{"accounts.alice.password": "theirs"}, "stringData"))
		}
	}
	project := object("argoproj.io/v1alpha1", "AppProject", env.ArgoCDNamespace, "default")
	project.Object["spec"] = map[string]any{"sourceRepos": []any{"https://git.example.com/theirs"}}
	return append(objects, project)
}

// kept returns the objects of an existing Argo CD that the add-on must not change.
func kept(objects []*unstructured.Unstructured) (kept []*unstructured.Unstructured) {
	for _, o := range objects {
		switch o.GetKind() {
		case "CustomResourceDefinition", "ConfigMap", "Secret", "ServiceAccount", "AppProject", "StatefulSet":
			kept = append(kept, o)
		}
	}
	return append(kept, object("v1", "Namespace", "", env.ArgoCDNamespace))
}

// existingStays checks that an existing Argo CD stays unchanged, including its newer
// CustomResourceDefinitions. The hub shows the conflict, and the next cluster waits. The deletion of the
// add-on removes nothing.
func existingStays(t *testing.T) {
	c, next := fleet.Managed[0], fleet.Managed[1]
	objects := existing(t)
	must(t, c.Apply(t.Context(), objects...))
	for _, plural := range []string{"applications", "appprojects", "applicationsets"} {
		env.Await(t, "CustomResourceDefinition "+plural+" to be established", func(ctx context.Context) (bool, string) {
			o := definition(plural)
			err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			text := fmt.Sprint(err, list)
			return strings.Contains(text, "type:Established") && strings.Contains(text, "type:NamesAccepted"), text
		})
	}
	before := snapshot(t, c, kept(objects))
	want(t, true, c, next)
	a := addOn(c.Name)
	env.Await(t, "the conflict of "+c.Name, func(ctx context.Context) (bool, string) {
		if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return false, err.Error()
		}
		text, _ := json.Marshal(a.Status.Conditions)
		reported := conflicts(ctx, c.Name)
		applied := meta.FindStatusCondition(a.Status.Conditions, addonv1alpha1.ManagedClusterAddOnManifestApplied)
		// At first the work agent has no permission to patch definitions. The template grants it.
		conflict := `CustomResourceDefinition /applications.argoproj.io: Failed to apply manifest: Apply failed with 1 conflict: conflict with "e2e"`
		return applied != nil && applied.Status == metav1.ConditionFalse && strings.Contains(reported, conflict), string(text) + reported
	})
	t.Logf("conditions: %+v\nthe work agent reports:%s", a.Status.Conditions, conflicts(t.Context(), c.Name))
	compare(t, c, before, kept(objects))
	if list, err := works(t.Context(), next.Name); err != nil || len(list) > 0 {
		t.Errorf("%s gets an Argo CD while %s has a conflict: %d works, %v", next.Name, c.Name, len(list), err)
	}
	want(t, false, next, c) // without the first cluster, the next one would get it
	gone(t, fleet.Hub, a)
	env.Await(t, "the end of the works", func(ctx context.Context) (bool, string) {
		list, err := works(ctx, c.Name)
		text, _ := json.Marshal(list)
		return err == nil && len(list) == 0, string(text)
	})
	compare(t, c, before, kept(objects))
	for _, o := range objects { // the cluster is clean for the tests that follow
		must(t, client.IgnoreNotFound(c.Client.Delete(t.Context(), o)))
		gone(t, c, o)
	}
}

// compare fails the test if an object has changed.
func compare(t *testing.T, c *env.Cluster, before map[string]string, objects []*unstructured.Unstructured) {
	t.Helper()
	for identity, now := range snapshot(t, c, objects) {
		if now != before[identity] {
			t.Errorf("%s of %s changed:\nbefore %.2000s\nafter  %.2000s", identity, c.Name, before[identity], now)
		}
	}
}
