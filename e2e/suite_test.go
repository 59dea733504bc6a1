// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// fleet is the fleet of all tests. TestMain starts it once, and every test leaves it unchanged. The hub and
// cluster1 run the newest components, and cluster2 runs the oldest supported ones. Tests that stop, kill or
// exchange components, or check all objects of the fleet, run first. The [alongside] tests then run in
// parallel.
var (
	fleet *env.Fleet
	view  *scenario.View
)

func TestMain(m *testing.M) {
	testkit.SideBySide(6)
	options := env.Options{Old: []string{"cluster2"}, Replicas: 2, Page: true, Arguments: shortLeases(), StatusPoll: 2 * time.Second}
	os.Exit(env.RunTests(m.Run, options, prepare))
}

func prepare(ctx context.Context, f *env.Fleet) (err error) {
	fleet = f
	if view, err = scenario.Watch(ctx, f); err != nil {
		return err
	}
	if err := scenario.Prepare(ctx, f); err != nil {
		return err
	}
	return approveRemovals(ctx, true)
}

// shortLeases let a standby take over soon after the leader was killed. A leader exits when it cannot renew
// in time, so the leases leave room for a busy machine.
func shortLeases() map[string][]string {
	leases := []string{"--leader-elect-lease-duration=20s", "--leader-elect-renew-deadline=18s", "--leader-elect-retry-period=500ms"}
	return map[string][]string{env.Propagation: leases, env.Aggregation: leases}
}

// approveRemovals approves the removal of any number of Applications of the Argo CD namespace, or removes the
// approval. The tests together remove more than the deletion budget of a group or the hub.
func approveRemovals(ctx context.Context, approved bool) error {
	value := "null"
	if approved {
		value = fmt.Sprintf("%q", "approve until "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, contract.DeletionBudgetAnnotation, value)
	for _, name := range []string{env.ArgoCDNamespace, env.ProductNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := fleet.Hub.Client.Patch(ctx, namespace, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			return err
		}
	}
	return nil
}

// await is [scenario.View.Expect] on the view of the fleet.
func await(t *testing.T, name string, what func() (holds bool, saw string)) {
	t.Helper()
	view.Expect(t, name, what)
}

// alongside runs a test in parallel with others. Such a test has separate Applications, counts no others, and
// stops no part of the fleet.
func alongside(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// onEachCluster runs a test on the cluster with the newest components and, in parallel, on the cluster with
// the oldest. The test may stop components of its cluster.
func onEachCluster(t *testing.T, test func(t *testing.T, cluster string)) {
	t.Helper()
	for _, c := range fleet.Managed {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			test(t, c.Name)
		})
	}
}

// process returns a process of the fleet.
func process(t *testing.T, name string) *env.Process {
	t.Helper()
	p, err := fleet.Processes.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// afterwards runs a clean-up with a separate timeout when the test has ended.
func afterwards(t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*env.Patience)
		defer cancel()
		if err := do(ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
}

// startAfterwards starts a stopped process again when the test has ended.
func startAfterwards(t *testing.T, p *env.Process) {
	t.Helper()
	afterwards(t, "start "+p.Name+" again", func(ctx context.Context) error {
		if p.PID() != 0 {
			return nil
		}
		return p.Start(ctx)
	})
}
