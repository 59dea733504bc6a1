// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// spec returns the spec of an Application that deploys one ConfigMap with the Application's name, from a
// dedicated path in git.
func spec(t *testing.T, name string, automated bool) json.RawMessage {
	t.Helper()
	content := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {test: %s}\n", name, t.Name())
	if _, err := fleet.Git.Commit(t.Context(), "Add "+name, map[string]string{name + "/config.yaml": content}); err != nil {
		t.Fatal(err)
	}
	s := map[string]any{
		"project":     "guestbook",
		"source":      map[string]any{"repoURL": env.RepositoryURL, "targetRevision": "main", "path": name},
		"destination": map[string]any{"server": argocd.InClusterServer, "namespace": "guestbook"},
	}
	if automated {
		s["syncPolicy"] = map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// create creates a standalone hub Application for a cluster. When the test ends, create deletes it and waits
// until it is gone.
func create(t *testing.T, name, cluster string, automated bool) *argocd.Application {
	t.Helper()
	return createWith(t, name, cluster, spec(t, name, automated), nil)
}

// createWith is [create] with a given spec and further annotations.
func createWith(t *testing.T, name, cluster string, spec json.RawMessage, annotations map[string]string) *argocd.Application {
	t.Helper()
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: env.ArgoCDNamespace, Name: name, Finalizers: []string{argocd.ResourcesFinalizer},
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: spec,
	}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	maps.Copy(a.Annotations, annotations)
	if err := fleet.Hub.Client.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	afterwards(t, "delete "+name, func(ctx context.Context) error { return remove(ctx, a) })
	return a
}

// remove deletes an Application and waits until it is gone.
func remove(ctx context.Context, a *argocd.Application) error {
	if err := fleet.Hub.Client.Delete(ctx, a); client.IgnoreNotFound(err) != nil {
		return err
	}
	return env.Wait(ctx, a.Name+" to be gone from the hub", func(ctx context.Context) (bool, string) {
		left := &argocd.Application{}
		err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(a), left)
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %v %s", err, left.Finalizers, left.Status)
	})
}

// patch sends a JSON merge patch for a hub Application.
func patch(t *testing.T, a *argocd.Application, body string) {
	t.Helper()
	if err := fleet.Hub.Client.Patch(t.Context(), a.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// awaitWell waits until an Application is Synced and Healthy on a cluster, or on the hub.
func awaitWell(t *testing.T, where, name string) {
	t.Helper()
	await(t, name+" to be well on "+where, func() (bool, string) {
		a, ok := view.Application(where, name)
		return ok && a.SyncedAndHealthy(""), fmt.Sprintf("found: %t: %s", ok, a)
	})
}

// managed returns the delivered copy of an Application, read from its cluster.
func managed(t *testing.T, cluster, name string) *argocd.Application {
	t.Helper()
	a := &argocd.Application{}
	if err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, a); err != nil {
		t.Fatal(err)
	}
	return a
}

func configMapExists(t *testing.T, cluster, name string) bool {
	t.Helper()
	return exists(t, cluster, name, &corev1.ConfigMap{})
}

func deploymentExists(t *testing.T, cluster, name string) bool {
	t.Helper()
	return exists(t, cluster, name, &appsv1.Deployment{})
}

func exists(t *testing.T, cluster, name string, into client.Object) bool {
	t.Helper()
	err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKey{Namespace: "guestbook", Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// configMapValue returns a value of a ConfigMap of the workload, or "" if the ConfigMap does not exist.
func configMapValue(t *testing.T, cluster, name, key string) string {
	t.Helper()
	c := &corev1.ConfigMap{}
	if !exists(t, cluster, name, c) {
		return ""
	}
	return c.Data[key]
}
