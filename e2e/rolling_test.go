// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

//go:embed testdata/rolling.yaml
var rolling string

const rollingName = "rolling"

// Argo CD's own ApplicationSet controller rolls a change over two groups of
// clusters, one after the other, by nothing but the status that propagation writes.
func TestRollingSync(t *testing.T) {
	if _, err := fleet.Git.Commit(t.Context(), "Add what rolls", map[string]string{
		"rolling-v1/config.yaml": config("v1"), "rolling-v2/config.yaml": config("v2"), "rolling-bad/config.yaml": neverHealthy,
	}); err != nil {
		t.Fatal(err)
	}
	set := applyRolling(t, "rolling-v1")
	afterwards(t, "delete "+rollingName, func(ctx context.Context) error {
		if err := fleet.Hub.Client.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
			return err
		}
		return env.Wait(ctx, "the Applications of "+rollingName+" to go", func(ctx context.Context) (bool, string) {
			_, one := view.Application("hub", "rolling-cluster1")
			_, two := view.Application("hub", "rolling-cluster2")
			err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(set), set.DeepCopy())
			return !one && !two && apierrors.IsNotFound(err), fmt.Sprintf("on cluster1: %t, on cluster2: %t, the ApplicationSet: %v", one, two, err)
		})
	})
	awaitPath(t, "cluster1", "rolling-v1")
	awaitPath(t, "cluster2", "rolling-v1")

	// The first group never gets well with this: the second must not see it.
	applyRolling(t, "rolling-bad")
	await(t, "the first group to be at it", func() (bool, string) {
		a, _ := view.Application("hub", "rolling-cluster1")
		return a.Health == argocd.HealthProgressing && a.Phase == argocd.OperationRunning, a.String()
	})
	if configMapIsThere(t, "cluster2", "stuck-after") || deploymentIsThere(t, "cluster2", "stuck") {
		t.Error("the second group got the change before the first was well")
	}

	// Changes wait for the operation, which waits for ever: a person ends it.
	applyRolling(t, "rolling-v2")
	patch(t, &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "rolling-cluster1"}}, terminating)
	awaitPath(t, "cluster1", "rolling-v2")
	awaitPath(t, "cluster2", "rolling-v2")
}

func config(version string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rolling}\ndata: {version: " + version + "}\n"
}

// applyRolling applies the ApplicationSet with a path in git.
func applyRolling(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(rolling, "PATH", path)), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Apply(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// awaitPath waits until a cluster's Application is well with the content of a path.
func awaitPath(t *testing.T, cluster, path string) {
	t.Helper()
	name := "rolling-" + cluster
	version := strings.TrimPrefix(path, "rolling-")
	await(t, name+" to be well with "+path, func() (bool, string) {
		a, _ := view.Application("hub", name)
		return a.SyncedAndHealthy("") && configMapValue(t, cluster, "rolling", "version") == version, a.String()
	})
}
