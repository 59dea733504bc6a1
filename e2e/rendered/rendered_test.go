// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendered tells the story of rendered mode on a fleet whose managed clusters
// have no Argo CD.
package rendered

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

var fleet *env.Fleet

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := env.WithParent(context.Background())
	if err := env.Build(ctx); err != nil {
		return 1, err
	}
	fleet, err = env.Start(ctx, env.Options{Rendered: true, Progress: func(line string) { fmt.Println(line) }})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	if code = m.Run(); code != 0 {
		kept, keepErr := fleet.KeepLogs()
		fmt.Println("the logs are kept in", kept)
		err = keepErr
	}
	return code, err
}

const manifests = "guestbook/guestbook.yaml"

// TestStory delivers, changes, breaks, mends, loses and withdraws: each step waits
// for what it promises.
func TestStory(t *testing.T) {
	prepare(t)
	must(t, fleet.Hub.ApplyFiles(t.Context(), env.Rendered("app-set.yaml")))
	for _, c := range fleet.Managed {
		awaitApplication(t, c.Name, "Synced Healthy 4 of 4 resources")
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
	awaitApplication(t, fleet.Managed[1].Name, "Synced Healthy 4 of 4 resources")

	// Mended, and without the ConfigMap, which is pruned there.
	admitPods()
	commit(t, original[:strings.LastIndex(original, "---")])
	for _, c := range fleet.Managed {
		awaitApplication(t, c.Name, "Synced Healthy 3 of 3 resources")
		awaitGone(t, c, object("v1", "ConfigMap", "guestbook", "guestbook-config"))
	}

	refused(t)
	lost(t)

	must(t, fleet.Hub.Client.Delete(t.Context(), object("argoproj.io/v1alpha1", "ApplicationSet", env.ArgoCDNamespace, "guestbook-rendered")))
	for _, c := range fleet.Managed {
		awaitGone(t, c, deployment())
		awaitGone(t, fleet.Hub, object("argoproj.io/v1alpha1", "Application", env.ArgoCDNamespace, c.Name+"-guestbook-rendered"))
	}
}

// refusePods makes a cluster admit no pod of the guestbook, until it is told to again.
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
	must(t, env.Wait(t.Context(), "pods to be refused", func(ctx context.Context) (bool, string) {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "guestbook", Name: "probe"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
		}
		err := c.Client.Create(ctx, probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "no pods today"), fmt.Sprint(err)
	}))
	return func() {
		must(t, c.Client.Delete(t.Context(), binding))
		must(t, c.Client.Delete(t.Context(), policy))
	}
}

// refused: what the plugin refuses is a condition of the Application, and nothing is
// changed on the cluster.
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
	}
	commit(t, before)
	for _, c := range fleet.Managed {
		awaitApplication(t, c.Name, "Synced Healthy 3 of 3 resources")
	}
}

// lost: a cluster that is not heard of is Unknown, never green.
func lost(t *testing.T) {
	t.Helper()
	name := fleet.Managed[1].Name
	lease(t, name, 1) // the hub gives up after five of them
	agent, err := fleet.Process(name + "-registration-agent")
	must(t, err)
	must(t, agent.Kill(t.Context()))
	awaitApplication(t, name, "Synced Unknown "+name+" not heard of since ")
	awaitApplication(t, fleet.Managed[0].Name, "Synced Healthy 3 of 3 resources")
	lease(t, name, 60)
	must(t, agent.Start(t.Context()))
	awaitApplication(t, name, "Synced Healthy 3 of 3 resources")
}

// prepare applies what a platform sets up once, and waits for the placement.
func prepare(t *testing.T) {
	t.Helper()
	for _, c := range fleet.Managed {
		must(t, c.ApplyFiles(t.Context(), env.Rendered("managed")))
	}
	must(t, fleet.Hub.ApplyFiles(t.Context(), scenario.Examples("hub"), env.Rendered("hub")))
	must(t, env.Wait(t.Context(), "the placement to decide", func(ctx context.Context) (bool, string) {
		var decisions clusterv1beta1.PlacementDecisionList
		if err := fleet.Hub.Client.List(ctx, &decisions, client.InNamespace(env.ArgoCDNamespace)); err != nil {
			return false, err.Error()
		}
		decided := 0
		for i := range decisions.Items {
			decided += len(decisions.Items[i].Status.Decisions)
		}
		return decided == len(fleet.Managed), fmt.Sprint(decided, " decisions")
	}))
}

// awaitApplication waits for sync, health and the beginning of the health message of
// the ManifestWork of a cluster's Application.
func awaitApplication(t *testing.T, cluster, want string) {
	t.Helper()
	awaitObject(t, fleet.Hub, application(cluster), func(o *unstructured.Unstructured) (bool, string) {
		sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
		resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
		message := ""
		if len(resources) == 1 {
			message, _, _ = unstructured.NestedString(resources[0].(map[string]any), "health", "message")
		}
		saw := strings.Join([]string{sync, health, message}, " ")
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return strings.HasPrefix(saw, want), fmt.Sprint(saw, " ", conditions)
	})
}

func awaitObject(t *testing.T, c *env.Cluster, o *unstructured.Unstructured, holds func(*unstructured.Unstructured) (bool, string)) {
	t.Helper()
	must(t, env.Wait(t.Context(), fmt.Sprintf("%s %s on %s", o.GetKind(), o.GetName(), c.Name), func(ctx context.Context) (bool, string) {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		return holds(o)
	}))
}

func awaitGone(t *testing.T, c *env.Cluster, o *unstructured.Unstructured) {
	t.Helper()
	must(t, env.Wait(t.Context(), fmt.Sprintf("no %s %s on %s", o.GetKind(), o.GetName(), c.Name), func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	}))
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

func application(cluster string) *unstructured.Unstructured {
	return object("argoproj.io/v1alpha1", "Application", env.ArgoCDNamespace, cluster+"-guestbook-rendered")
}

func deployment() *unstructured.Unstructured {
	return object("apps/v1", "Deployment", "guestbook", "guestbook-ui")
}

func commit(t *testing.T, content string) {
	t.Helper()
	_, err := fleet.Git.Commit(t.Context(), "Change the guestbook", map[string]string{manifests: content})
	must(t, err)
}

func lease(t *testing.T, cluster string, seconds int) {
	t.Helper()
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	must(t, fleet.Hub.Client.Patch(t.Context(), c, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, seconds))))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
