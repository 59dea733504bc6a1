// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Argo CD's ApplicationSet controller rolls a change out over two groups of clusters, one after the other.
// The controller uses only the status that propagation writes.
func TestRollingSync_updatesOneGroupAfterTheOther(t *testing.T) {
	for name, test := range map[string]struct {
		first, second string
		// meanwhile runs while the first group holds the change.
		meanwhile func(*testing.T)
	}{
		"the newest parts first": {"cluster1", "cluster2", func(*testing.T) {}},
		// Another build of propagation writes the status. No group continues and none restarts because of
		// that.
		"the oldest parts first, and an upgrade meanwhile": {"cluster2", "cluster1", downgradeAndUpgrade},
	} {
		t.Run(name, func(t *testing.T) { roll(t, test.first, test.second, test.meanwhile) })
	}
}

func roll(t *testing.T, first, second string, meanwhile func(*testing.T)) {
	t.Helper()
	const name = "rolling"
	set := startRolling(t, name, first, second)
	apply := func(one, two string) {
		applyRolling(t, name, scenario.Group{Cluster: first, Path: one}, scenario.Group{Cluster: second, Path: two})
	}

	// The first group never becomes healthy with this change, so the second must not get it. The controller
	// uses the status on the hub. It would begin with the group that reports first.
	apply(name+"-bad", name+"-v1")
	await(t, "the first group to be at it", func() (bool, string) {
		a, _ := view.Application("hub", name+"-"+first)
		return a.Health == argocd.HealthProgressing && a.Phase == argocd.OperationRunning, a.String()
	})
	apply(name+"-bad", name+"-bad")
	await(t, "the second group to wait", func() (bool, string) {
		a, _ := view.Application("hub", name+"-"+second)
		g := groupOf(t, set, name+"-"+second)
		return a.Sync == argocd.SyncOutOfSync && g.status == "Waiting", a.String() + ", in the ApplicationSet " + g.status
	})
	before := operationOf(t, first, name+"-"+first)
	meanwhile(t)
	if after := operationOf(t, first, name+"-"+first); after != before {
		t.Errorf("the operation of the first group was %v and is %v", before, after)
	}
	if configMapExists(t, second, "stuck-after") || deploymentExists(t, second, "stuck") {
		t.Error("the second group got the change before the first was well")
	}

	// Changes wait for the operation, which never ends. A person terminates it.
	apply(name+"-v2", name+"-v2")
	patch(t, &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name + "-" + first}}, terminating)
	awaitVersion(t, name, first, "v2")
	awaitVersion(t, name, second, "v2")
}

// The ApplicationSet controller of Argo CD 3.x deletes the groups in the order of the ApplicationSet. The
// Applications of one group must be gone from the hub before it deletes the next group.
func TestDeletion_followsTheOrderOfTheGroups(t *testing.T) {
	for _, order := range [][2]string{{"cluster1", "cluster2"}, {"cluster2", "cluster1"}} {
		t.Run(order[1]+" before "+order[0], func(t *testing.T) {
			t.Parallel()
			deletionOrder(t, order[0], order[1])
		})
	}
}

func deletionOrder(t *testing.T, first, second string) {
	t.Helper()
	name := "ordered-" + first
	set := startRolling(t, name, first, second)
	argo := process(t, second+"-argocd")
	startAfterwards(t, argo)
	if err := argo.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	// The controller must reconcile twice, because the first time it stops in any case.
	waits := "application " + name + "-" + second + " has been marked for deletion, but object not removed yet"
	await(t, "the controller to wait for "+name+"-"+second, func() (bool, string) {
		log, err := os.ReadFile(process(t, "hub-applicationsets").Log)
		return bytes.Contains(log, []byte(waits)), fmt.Sprint(err)
	})
	if a, exists := view.Application("hub", name+"-"+first); !exists || a.Deleting {
		t.Errorf("the first group is there: %t, and being deleted: %t, before the second is gone", exists, a.Deleting)
	}
	if err := argo.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rollingGone(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{first, second} {
		if configMapExists(t, cluster, name) {
			t.Errorf("the workload is left on %s", cluster)
		}
	}
}

// startRolling applies the ApplicationSet for two groups of one cluster each, and waits until it is rolled
// out. It deletes the ApplicationSet when the test ends.
func startRolling(t *testing.T, name, first, second string) *unstructured.Unstructured {
	t.Helper()
	if _, err := fleet.Git.Commit(t.Context(), "Add what rolls", map[string]string{
		name + "-v1/config.yaml": config(t, name, "v1"), name + "-v2/config.yaml": config(t, name, "v2"), name + "-bad/config.yaml": scenario.NeverHealthy,
	}); err != nil {
		t.Fatal(err)
	}
	set := applyRolling(t, name, scenario.Group{Cluster: first, Path: name + "-v1"}, scenario.Group{Cluster: second, Path: name + "-v1"})
	afterwards(t, "delete "+name, func(ctx context.Context) error {
		if err := fleet.Hub.Client.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
			return err
		}
		return rollingGone(ctx, set)
	})
	awaitVersion(t, name, first, "v1")
	awaitVersion(t, name, second, "v1")
	awaitRolledOut(t, set, name+"-"+first, name+"-"+second)
	return set
}

// awaitRolledOut waits until the controller, too, reports both groups as healthy with the current revisions
// of their Applications. A late status of the last change would let a group begin the next one.
func awaitRolledOut(t *testing.T, set *unstructured.Unstructured, apps ...string) {
	t.Helper()
	for _, app := range apps {
		await(t, set.GetName()+" to be rolled out", func() (bool, string) {
			a, _ := view.Application("hub", app)
			g := groupOf(t, set, app)
			return g.status == argocd.HealthHealthy && slices.Equal(g.revisions, []string{a.Revision}), a.String() + ", in the ApplicationSet " + g.status
		})
	}
}

// group is the entry of one Application in the status of an ApplicationSet.
type group struct {
	status    string
	revisions []string
}

func groupOf(t *testing.T, set *unstructured.Unstructured, app string) (g group) {
	t.Helper()
	current := set.DeepCopy()
	if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(set), current); err != nil {
		t.Fatal(err)
	}
	groups, _, _ := unstructured.NestedSlice(current.Object, "status", "applicationStatus")
	for _, one := range groups {
		if m, _ := one.(map[string]any); m["application"] == app {
			g.status, _, _ = unstructured.NestedString(m, "status")
			g.revisions, _, _ = unstructured.NestedStringSlice(m, "targetRevisions")
		}
	}
	return g
}

func config(t *testing.T, name, version string) string {
	t.Helper()
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {version: %s, test: %q}\n", name, version, t.Name())
}

func applyRolling(t *testing.T, name string, first, second scenario.Group) *unstructured.Unstructured {
	t.Helper()
	set, err := scenario.RollingSync(name, first, second)
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Apply(t.Context(), set.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return set
}

// rollingGone waits until the ApplicationSet and its Applications do not exist any more.
func rollingGone(ctx context.Context, set *unstructured.Unstructured) error {
	return env.Wait(ctx, "the Applications of "+set.GetName()+" to go", func(ctx context.Context) (bool, string) {
		_, one := view.Application("hub", set.GetName()+"-cluster1")
		_, two := view.Application("hub", set.GetName()+"-cluster2")
		err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(set), set.DeepCopy())
		return !one && !two && apierrors.IsNotFound(err), fmt.Sprintf("on cluster1: %t, on cluster2: %t, the ApplicationSet: %v", one, two, err)
	})
}

// awaitVersion waits until a cluster's Application is healthy with the content of a version.
func awaitVersion(t *testing.T, name, cluster, version string) {
	t.Helper()
	await(t, name+"-"+cluster+" to be well with "+version, func() (bool, string) {
		a, _ := view.Application("hub", name+"-"+cluster)
		return a.SyncedAndHealthy("") && configMapValue(t, cluster, name, "version") == version, a.String()
	})
}
