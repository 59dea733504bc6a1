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

// The fleet is started once; every test leaves it as it found it. It is a mixed one:
// the hub and cluster1 run the newest parts, cluster2 the oldest supported ones. First
// are, one by one, the tests that stop, kill or exchange parts of it or look at all that
// it has; then, side by side, those that are [alongside] others.
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

// shortLeases make a standby take over soon after a leader was killed. A leader ends
// when it cannot renew in time, so they leave room for a machine with much else to do.
func shortLeases() map[string][]string {
	leases := []string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=13s", "--leader-elect-retry-period=500ms"}
	return map[string][]string{env.Propagation: leases, env.Aggregation: leases}
}

// approveRemovals approves the removal of any number of Applications of the Argo CD namespace, or
// ends that. Together the tests remove more than the limits of a group or the hub.
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

// alongside runs a test in parallel with others: it has its own Applications, counts nothing else,
// and stops no part of the fleet.
func alongside(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// onEachCluster runs a test on the cluster with the newest parts and, at the same time, on
// the one with the oldest. It may stop parts of its cluster.
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

// afterwards runs a clean-up, which has time of its own, when the test has ended.
func afterwards(t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := do(ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
}

// startAfterwards starts a process again when the test has ended and has left it stopped.
func startAfterwards(t *testing.T, p *env.Process) {
	t.Helper()
	afterwards(t, "start "+p.Name+" again", func(ctx context.Context) error {
		if p.PID() != 0 {
			return nil
		}
		return p.Start(ctx)
	})
}
