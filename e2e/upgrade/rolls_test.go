// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// rolls is a rollout that waits for its first group.
type rolls struct{ startedAt string }

// startRollout starts a rollout with a first group that never becomes healthy, so that the second group
// waits.
func startRollout(t *testing.T) rolls {
	t.Helper()
	commit(t, "Add what rolls", map[string]string{
		"rolling-v1/config.yaml": configMap(rollout, "v1"), "rolling-v2/config.yaml": configMap(rollout, "v2"), "rolling-bad/config.yaml": scenario.NeverHealthy,
	})
	applyRollout(t, "v1", "v1")
	awaitVersion(t, "cluster1", "v1")
	awaitVersion(t, "cluster2", "v1")
	// The controller uses the status on the hub. It would begin with the group that reports first.
	applyRollout(t, "bad", "v1")
	await(t, "the first group to be at it", func() (bool, string) {
		a, _ := view.Application("hub", "rolling-cluster1")
		row, _ := view.ReportRow(rollout, "rolling-cluster1")
		at := func(a scenario.Application) bool {
			return a.Health == argocd.HealthProgressing && a.Phase == argocd.OperationRunning
		}
		return at(a) && at(row), "hub: " + a.String() + ", report: " + row.String()
	})
	applyRollout(t, "bad", "bad")
	await(t, "the second group to be told of it, and to be left alone", func() (bool, string) {
		a, _ := view.Application("hub", "rolling-cluster2")
		row, _ := view.ReportRow(rollout, "rolling-cluster2")
		request := workOf(t, "rolling-cluster2").Annotations[contract.RequestAnnotation]
		return a.Sync == argocd.SyncOutOfSync && row.Sync == argocd.SyncOutOfSync && request == "", a.String() + ", " + row.String() + ", request " + request
	})
	return rolls{operationsOf(t, "cluster1", "rolling-cluster1").OperationState.StartedAt}
}

// applyRollout applies the ApplicationSet with a version for each group.
func applyRollout(t *testing.T, first, second string) {
	t.Helper()
	set, err := scenario.RollingSync(rollout, scenario.Group{Cluster: "cluster1", Path: "rolling-" + first}, scenario.Group{Cluster: "cluster2", Path: "rolling-" + second})
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}

func awaitVersion(t *testing.T, cluster, version string) {
	t.Helper()
	await(t, "the rollout to bring "+version+" to "+cluster, func() (bool, string) {
		a, _ := view.Application("hub", "rolling-"+cluster)
		return a.SyncedAndHealthy("") && versionOn(t, cluster) == version, a.String() + ", there: " + versionOn(t, cluster)
	})
}

// versionOn returns the version of the rollout on a cluster.
func versionOn(t *testing.T, cluster string) string {
	t.Helper()
	c := &corev1.ConfigMap{}
	err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKey{Namespace: "guestbook", Name: rollout}, c)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return c.Data["version"]
}

// stands fails the test unless the first group's operation is still the same, and the second group has not
// changed.
func (r rolls) stands(t *testing.T) {
	t.Helper()
	o := operationsOf(t, "cluster1", "rolling-cluster1").OperationState
	if o.StartedAt != r.startedAt || o.Phase != argocd.OperationRunning {
		t.Errorf("the first group's operation, started at %s, is %s since %s", r.startedAt, o.Phase, o.StartedAt)
	}
	if existing := versionOn(t, "cluster2"); existing != "v1" {
		t.Errorf("the second group has %q before the first one is well", existing)
	}
}

// goesOn terminates the operation of the first group, and waits until both groups have the next version.
func (r rolls) goesOn(t *testing.T) {
	t.Helper()
	applyRollout(t, "v2", "v2")
	patch(t, "rolling-cluster1", `{"status":{"operationState":{"phase":"Terminating"}}}`)
	awaitVersion(t, "cluster1", "v2")
	awaitVersion(t, "cluster2", "v2")
}
