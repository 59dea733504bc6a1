// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// deploy creates an Application of the example's project, without an ApplicationSet, and deletes it when the
// test ends. source is the source's content without the repository.
func deploy(t *testing.T, name, cluster, source string) *unstructured.Unstructured {
	t.Helper()
	return deployFrom(t, "main", name, cluster, source)
}

// deployFrom is [deploy] from another branch, which no other test changes.
func deployFrom(t *testing.T, branch, name, cluster, source string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal(fmt.Appendf(nil, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {namespace: argocd, name: %s, labels: {apps.open-cluster-management.io/rendered: "true"}, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: guestbook-rendered
  source: {repoURL: %q, targetRevision: %s, %s}
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  syncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 2, backoff: {duration: 1s, factor: 2, maxDuration: 2s}}}
`, name, env.RepositoryURL, branch, source, cluster), &o.Object))
	must(t, fleet.Hub.Client.Create(t.Context(), o))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := fleet.Hub.Client.Delete(ctx, o); err != nil {
			t.Error(err)
		}
		if err := gone(ctx, fleet.Hub, o); err != nil {
			t.Error(err)
		}
	})
	return o.DeepCopy()
}

// plugin returns the part of a source that selects the plugin, with parameters of type string.
func plugin(path string, parameters ...string) string {
	text := make([]string, 0, len(parameters)/2)
	for i := 0; i < len(parameters); i += 2 {
		text = append(text, fmt.Sprintf("{name: %s, string: %q}", parameters[i], parameters[i+1]))
	}
	return fmt.Sprintf("path: %s, plugin: {name: ocm, parameters: [%s]}", path, strings.Join(text, ", "))
}

// awaitApplication waits until a cluster's Application has a state: sync, health, and the beginning of the
// health message of its ManifestWork.
func awaitApplication(t *testing.T, cluster, want string) {
	t.Helper()
	awaitStatus(t, application(cluster), want)
}

// awaitStatus is [awaitApplication] for any Application. An Application with several ManifestWorks has no
// message.
func awaitStatus(t *testing.T, a *unstructured.Unstructured, want string) {
	t.Helper()
	awaitObject(t, fleet.Hub, a, func(o *unstructured.Unstructured) (bool, string) {
		sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
		resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
		message := ""
		if len(resources) == 1 {
			message, _, _ = unstructured.NestedString(resources[0].(map[string]any), "health", "message")
		}
		saw := strings.TrimSpace(strings.Join([]string{sync, health, message}, " "))
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		operation, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
		return strings.HasPrefix(saw, want), fmt.Sprint(saw, " ", conditions, " ", operation)
	})
}

// awaitCondition waits until the message of an Application's condition contains text.
func awaitCondition(t *testing.T, a *unstructured.Unstructured, text string) (message string) {
	t.Helper()
	awaitObject(t, fleet.Hub, a, func(o *unstructured.Unstructured) (bool, string) {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if message, _, _ = unstructured.NestedString(c.(map[string]any), "message"); strings.Contains(message, text) {
				return true, ""
			}
		}
		return false, fmt.Sprint(conditions)
	})
	return message
}

// awaitOperation waits for an operation in a phase, with a message that contains text.
func awaitOperation(t *testing.T, a *unstructured.Unstructured, phase, text string) {
	t.Helper()
	awaitObject(t, fleet.Hub, a, func(o *unstructured.Unstructured) (bool, string) {
		is, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "phase")
		message, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
		return is == phase && strings.Contains(message, text), is + " " + message
	})
}

// awaitRow waits until a cluster's row in the report has the given health, sync and condition types.
func awaitRow(t *testing.T, cluster, want string) {
	t.Helper()
	env.Await(t, "the row of "+cluster+" to be "+want, func(ctx context.Context) (bool, string) {
		r := &v1alpha1.MulticlusterApplicationSetReport{}
		if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(report()), r); err != nil {
			return false, err.Error()
		}
		for _, c := range r.Statuses.ClusterConditions {
			if c.Cluster != cluster {
				continue
			}
			saw := c.HealthStatus + " " + c.SyncStatus
			for _, condition := range c.Conditions {
				saw += " " + condition.Type
			}
			return saw == want && len(r.Statuses.ClusterConditions) == len(fleet.Managed), saw
		}
		return false, fmt.Sprint(r.Statuses)
	})
}

func awaitObject(t *testing.T, c *env.Cluster, o *unstructured.Unstructured, holds func(*unstructured.Unstructured) (bool, string)) {
	t.Helper()
	env.Await(t, fmt.Sprintf("%s %s on %s", o.GetKind(), o.GetName(), c.Name), func(ctx context.Context) (bool, string) {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		return holds(o)
	})
}

func awaitGone(t *testing.T, c *env.Cluster, o *unstructured.Unstructured) {
	t.Helper()
	must(t, gone(t.Context(), c, o))
}

func gone(ctx context.Context, c *env.Cluster, o *unstructured.Unstructured) error {
	return env.Wait(ctx, fmt.Sprintf("no %s %s on %s", o.GetKind(), o.GetName(), c.Name), func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

func application(cluster string) *unstructured.Unstructured {
	return object("argoproj.io/v1alpha1", "Application", env.ArgoCDNamespace, cluster+"-guestbook-rendered")
}

func report() *unstructured.Unstructured {
	return object("apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport", env.ArgoCDNamespace, "guestbook-rendered")
}

func work(cluster, name string) *unstructured.Unstructured {
	return object("work.open-cluster-management.io/v1", "ManifestWork", cluster, name)
}

func deployment() *unstructured.Unstructured {
	return object("apps/v1", "Deployment", "guestbook", "guestbook-ui")
}

func commit(t *testing.T, content string) {
	t.Helper()
	commitFiles(t, map[string]string{manifests: content})
}

func commitFiles(t *testing.T, files map[string]string) {
	t.Helper()
	_, err := fleet.Git.Commit(t.Context(), "Change what is deployed", files)
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
