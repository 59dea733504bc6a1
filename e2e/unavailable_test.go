// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// When a cluster's agent stops, the hub reports its Application as Unknown with the reason. After the agent
// has started again, the hub reports the Application as healthy.
func TestStatus_isUnknownWhileTheClusterIsUnreachable(t *testing.T) {
	onEachCluster(t, clusterUnavailable)
}

func clusterUnavailable(t *testing.T, cluster string) {
	t.Helper()
	name := "unheard-" + cluster
	create(t, name, cluster, true)
	awaitWell(t, "hub", name)
	lease(t, cluster, 1) // the hub waits for five lease durations
	agent := process(t, cluster+"-registration-agent")
	if err := agent.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, name+" to be Unknown on the hub, and why", func() (bool, string) {
		a, _ := view.Application("hub", name)
		return a.Health == argocd.HealthUnknown && strings.Contains(a.Message(), "Unreachable"), a.String()
	})
	if existing, _ := view.Application(cluster, name); !existing.SyncedAndHealthy("") {
		t.Errorf("only the hub should have changed its mind, yet on %s: %s", cluster, existing)
	}
	lease(t, cluster, 60)
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fleet.AwaitAvailable(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	await(t, name+" to be well on the hub again", func() (bool, string) {
		a, _ := view.Application("hub", name)
		return a.SyncedAndHealthy("") && len(a.Conditions) == 0, a.String()
	})
}

// lease sets the lease duration of a managed cluster.
func lease(t *testing.T, cluster string, seconds int) {
	t.Helper()
	body := fmt.Sprintf(`{"spec":{"leaseDurationSeconds":%d}}`, seconds)
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	if err := fleet.Hub.Client.Patch(t.Context(), c, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
}
