// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendered tests rendered mode on a fleet of managed clusters without Argo CD.
package rendered

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var fleet *env.Fleet

// TestMain starts the fleet. TestLifecycle_deliversRepairsAndDeletes checks all objects of the fleet, so it runs first. The other tests,
// each with a separate Application, run in parallel after it.
func TestMain(m *testing.M) {
	testkit.SideBySide(5)
	os.Exit(env.RunTests(m.Run, env.Options{Rendered: true}, func(ctx context.Context, f *env.Fleet) error {
		fleet = f
		if err := scenario.PrepareRendered(ctx, f); err != nil {
			return err
		}
		for _, c := range f.Managed {
			if err := c.ApplyFiles(ctx, filepath.Join("testdata", "executor.yaml")); err != nil {
				return err
			}
		}
		return nil
	}))
}

const manifests = "guestbook/guestbook.yaml"

// TestLifecycle_deliversRepairsAndDeletes delivers an Application, changes, breaks and repairs it, loses a cluster, and deletes the
// ApplicationSet. Each step waits for its result.
func TestLifecycle_deliversRepairsAndDeletes(t *testing.T) {
	must(t, fleet.Hub.ApplyFiles(t.Context(), env.Rendered("app-set.yaml")))
	for _, c := range fleet.Managed {
		awaitApplication(t, c.Name, "Synced Healthy 3 of 3 resources")
		awaitRow(t, c.Name, "Healthy Synced")
		awaitObject(t, c, deployment(), func(o *unstructured.Unstructured) (bool, string) {
			available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
			return available == 2, fmt.Sprint(available, " available")
		})
		if err := c.Client.List(t.Context(), &argocd.ApplicationList{}); err == nil {
			t.Errorf("%s knows Applications; the story is about clusters that do not", c.Name)
		}
	}

	original, err := fleet.Git.Read(manifests)
	must(t, err)
	broken := fleet.Managed[0]
	admitPods := refusePods(t, broken)
	commit(t, strings.Replace(original, "guestbook-ui:v1", "guestbook-ui:v2", 1))
	awaitApplication(t, broken.Name, "Synced Degraded Deployment guestbook/guestbook-ui: ")
	awaitRow(t, broken.Name, "Degraded Synced")
	awaitApplication(t, fleet.Managed[1].Name, "Synced Healthy 3 of 3 resources")
	awaitRow(t, fleet.Managed[1].Name, "Healthy Synced")

	// The guestbook is repaired, and its ConfigMap is removed and must be pruned.
	admitPods()
	commit(t, original[:strings.LastIndex(original, "---")])
	for _, c := range fleet.Managed {
		awaitApplication(t, c.Name, "Synced Healthy 2 of 2 resources")
		awaitGone(t, c, object("v1", "ConfigMap", "guestbook", "guestbook-config"))
	}

	refused(t)
	lost(t)
	rests(t)

	must(t, fleet.Hub.Client.Delete(t.Context(), object("argoproj.io/v1alpha1", "ApplicationSet", env.ArgoCDNamespace, "guestbook-rendered")))
	for _, c := range fleet.Managed {
		awaitGone(t, c, deployment())
		awaitGone(t, fleet.Hub, object("argoproj.io/v1alpha1", "Application", env.ArgoCDNamespace, c.Name+"-guestbook-rendered"))
	}
	awaitGone(t, fleet.Hub, report())
}

// refusePods makes a cluster reject the pods of the guestbook until the caller calls admit.
func refusePods(t *testing.T, c *env.Cluster) (admit func()) {
	t.Helper()
	const group = "admissionregistration.k8s.io/v1"
	policy := object(group, "ValidatingAdmissionPolicy", "", "no-pods")
	policy.Object["spec"] = map[string]any{
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "operations": []any{"CREATE"},
		}}},
		"validations": []any{map[string]any{"expression": "object.metadata.namespace != 'guestbook'", "message": "no pods today"}},
	}
	binding := object(group, "ValidatingAdmissionPolicyBinding", "", "no-pods")
	binding.Object["spec"] = map[string]any{"policyName": "no-pods", "validationActions": []any{"Deny"}}
	must(t, c.Apply(t.Context(), policy, binding))
	env.Await(t, "pods to be refused", func(ctx context.Context) (bool, string) {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "guestbook", Name: "probe"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
		}
		err := c.Client.Create(ctx, probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "no pods today"), fmt.Sprint(err)
	})
	return func() {
		must(t, c.Client.Delete(t.Context(), binding))
		must(t, c.Client.Delete(t.Context(), policy))
	}
}

// refused checks that a rejection by the plugin is a condition of the Application, and that the workload
// stays healthy.
func refused(t *testing.T) {
	t.Helper()
	before, err := fleet.Git.Read(manifests)
	must(t, err)
	commit(t, before+"---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {x: hunter2}}\n")
	for _, c := range fleet.Managed {
		awaitObject(t, fleet.Hub, application(c.Name), func(o *unstructured.Unstructured) (bool, string) {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			saw := fmt.Sprint(conditions)
			return strings.Contains(saw, "Secret guestbook/s would stand unencrypted") && !strings.Contains(saw, "hunter2"), saw
		})
		awaitRow(t, c.Name, "Healthy Unknown ComparisonError") // the workload keeps running
	}
	commit(t, before)
	for _, c := range fleet.Managed {
		awaitApplication(t, c.Name, "Synced Healthy 2 of 2 resources")
	}
}

// lost checks that the Application of an unreachable cluster is Unknown.
func lost(t *testing.T) {
	t.Helper()
	name := fleet.Managed[1].Name
	lease(t, name, 1) // the hub waits for five lease durations
	agent, err := fleet.Processes.Get(name + "-registration-agent")
	must(t, err)
	must(t, agent.Kill(t.Context()))
	awaitApplication(t, name, "Synced Unknown "+name+" not heard of since ")
	awaitRow(t, name, "Unknown Synced ClusterUnreachable")
	awaitApplication(t, fleet.Managed[0].Name, "Synced Healthy 2 of 2 resources")
	awaitRow(t, fleet.Managed[0].Name, "Healthy Synced")
	lease(t, name, 60)
	must(t, agent.Start(t.Context()))
	awaitApplication(t, name, "Synced Healthy 2 of 2 resources")
	awaitRow(t, name, "Healthy Synced")
}

// rests checks that an unchanged Application is not written again, however often Argo CD renders and compares
// it.
func rests(t *testing.T) {
	t.Helper()
	renderAgain := func() {
		for _, c := range fleet.Managed {
			a := application(c.Name)
			must(t, fleet.Hub.Client.Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"hard"}}}`))))
			awaitObject(t, fleet.Hub, a, func(o *unstructured.Unstructured) (bool, string) {
				_, asked := o.GetAnnotations()["argocd.argoproj.io/refresh"]
				return !asked, "it has not compared yet"
			})
			awaitApplication(t, c.Name, "Synced Healthy 2 of 2 resources")
		}
	}
	renderAgain()
	before := versions(t)
	for range 3 {
		renderAgain()
	}
	if after := versions(t); !maps.Equal(before, after) {
		t.Errorf("written at rest: before %v, after %v", before, after)
	}
}

// versions returns the resource versions of all objects that a delivery writes.
func versions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	note := func(c *env.Cluster, apiVersion, kind string, in ...client.ListOption) {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apiVersion, "kind": kind + "List"}}
		must(t, c.Client.List(t.Context(), list, in...))
		for _, o := range list.Items {
			found[c.Name+" "+kind+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
		}
	}
	note(fleet.Hub, "work.open-cluster-management.io/v1", "ManifestWork", client.HasLabels{contract.RenderedLabel})
	note(fleet.Hub, "apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport")
	for _, c := range fleet.Managed {
		note(c, "apps/v1", "Deployment", client.InNamespace("guestbook"))
		note(c, "v1", "Service", client.InNamespace("guestbook"))
		note(c, "work.open-cluster-management.io/v1", "AppliedManifestWork")
	}
	if len(found) < 9 {
		t.Fatalf("a settled fleet has %v", found)
	}
	return found
}
