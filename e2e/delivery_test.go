// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The managed cluster runs an operation of the hub once, although propagation restarts during the operation
// and after it.
func TestOperation_runsOnceAcrossARestart(t *testing.T) { syncOnce(t, "sync-once", restartPropagation) }

// syncOnce checks the same for any begin. It calls begin after the operation was requested on every cluster,
// and again after the operations have finished.
func syncOnce(t *testing.T, prefix string, begin func(*testing.T)) {
	t.Helper()
	apps, first := map[string]*argocd.Application{}, map[string]operation{}
	for _, c := range fleet.Managed {
		apps[c.Name] = create(t, prefix+"-"+c.Name, c.Name, false)
	}
	for _, a := range apps {
		await(t, a.Name+" to be OutOfSync on the hub", func() (bool, string) {
			seen, _ := view.Application("hub", a.Name)
			return seen.Sync == argocd.SyncOutOfSync, seen.String()
		})
	}
	for _, a := range apps {
		patch(t, a, `{"operation":{"initiatedBy":{"username":"e2e"},"sync":{"revision":"main"}}}`)
	}
	begin(t)
	for cluster, a := range apps {
		awaitWell(t, "hub", a.Name)
		awaitNoOperation(t, a)
		first[cluster] = operationOf(t, cluster, a.Name)
	}
	begin(t)
	awaitOthers(t, prefix)
	for cluster, a := range apps {
		if first, last := first[cluster], operationOf(t, cluster, a.Name); last.entries != 1 || last.startedAt != first.startedAt {
			t.Errorf("%s has %d entries in the history, operation started at %s; want one, at %s", a.Name, last.entries, last.startedAt, first.startedAt)
		}
	}
}

// awaitOthers delivers another Application to each cluster. When they are healthy, propagation has also had
// the time to reconcile the existing Applications after a restart.
func awaitOthers(t *testing.T, prefix string) {
	t.Helper()
	for _, c := range fleet.Managed {
		create(t, prefix+"-after-"+c.Name, c.Name, true)
	}
	for _, c := range fleet.Managed {
		awaitWell(t, "hub", prefix+"-after-"+c.Name)
	}
}

type operation struct {
	entries   int
	startedAt string
}

func operationOf(t *testing.T, cluster, name string) operation {
	t.Helper()
	var status struct {
		History        []json.RawMessage
		OperationState struct{ StartedAt string }
	}
	if err := json.Unmarshal(managed(t, cluster, name).Status, &status); err != nil {
		t.Fatal(err)
	}
	return operation{len(status.History), status.OperationState.StartedAt}
}

// restartPropagation kills both replicas of propagation and starts them again.
func restartPropagation(t *testing.T) {
	t.Helper()
	for _, p := range propagation(t) {
		if err := errors.Join(p.Kill(t.Context()), p.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// propagation returns the replicas of propagation.
func propagation(t *testing.T) []*env.Process {
	t.Helper()
	return []*env.Process{process(t, env.Propagation+"-0"), process(t, env.Propagation+"-1")}
}

// The hub Application keeps its finalizer until the managed cluster has confirmed that the workload is gone.
// Then it is deleted.
func TestDeletion_waitsForThePrune(t *testing.T) { onEachCluster(t, deleteWaitsForThePrune) }

func deleteWaitsForThePrune(t *testing.T, cluster string) {
	t.Helper()
	name := "delete-last-" + cluster
	a := create(t, name, cluster, true)
	awaitWell(t, "hub", name)
	argo := process(t, cluster+"-argocd")
	if err := argo.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Client.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	await(t, "the managed copy to wait for Argo CD", func() (bool, string) {
		existing, ok := view.Application(cluster, name)
		return ok && existing.Deleting, fmt.Sprintf("found: %t, deleting: %t", ok, existing.Deleting)
	})
	await(t, "the hub Application to say what it waits for", func() (bool, string) {
		hub, ok := view.Application("hub", name)
		return ok && hub.Deleting && hub.Message() != "", fmt.Sprintf("found: %t: %s", ok, hub)
	})
	hub := &argocd.Application{}
	if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(a), hub); err != nil {
		t.Fatalf("the hub Application is gone before its workload: %v", err)
	}
	if !configMapExists(t, cluster, name) {
		t.Error("the workload is gone although Argo CD was not there to prune it")
	}
	if err := argo.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the hub Application to go", func() (bool, string) {
		hub, ok := view.Application("hub", name)
		return !ok, hub.String()
	})
	if configMapExists(t, cluster, name) {
		t.Error("the hub Application is gone and its workload is not")
	}
}

// An Application that loses the pull label is removed from its cluster and stays on the hub.
func TestRemoval_followsALostPullLabel(t *testing.T) {
	alongside(t)
	onEachCluster(t, withdrawByLabel)
}

func withdrawByLabel(t *testing.T, cluster string) {
	t.Helper()
	name := "unlabelled-" + cluster
	a := create(t, name, cluster, true)
	awaitWell(t, "hub", name)
	patch(t, a, `{"metadata":{"labels":{"`+contract.PullLabel+`":null}}}`)
	await(t, "the work and the managed copy to go", func() (bool, string) {
		works := worksOf(name)
		_, exists := view.Application(cluster, name)
		return len(works) == 0 && !exists, fmt.Sprintf("works: %v, on %s: %t", works, cluster, exists)
	})
	if _, ok := view.Application("hub", name); !ok {
		t.Error("the hub Application is gone as well")
	}
	patch(t, a, `{"metadata":{"finalizers":null}}`) // no Argo CD of the hub runs here, which would remove it
}

func worksOf(name string) []*workv1.ManifestWork {
	return slices.DeleteFunc(view.Works(), func(w *workv1.ManifestWork) bool { return w.Annotations[contract.HubNameAnnotation] != name })
}

// A restart of propagation with idle Applications writes nothing: no ManifestWork changes.
func TestRestart_writesNothing(t *testing.T) {
	before := map[string]*workv1.ManifestWork{}
	for _, c := range fleet.Managed {
		create(t, "settled-"+c.Name, c.Name, true)
	}
	for _, c := range fleet.Managed {
		awaitWell(t, "hub", "settled-"+c.Name)
		before[c.Name] = workOf(t, "settled-"+c.Name)
	}
	restartPropagation(t)
	awaitOthers(t, "settled")
	for _, c := range fleet.Managed {
		before, after := before[c.Name], workOf(t, "settled-"+c.Name)
		if after.Generation != before.Generation || fmt.Sprint(after.Annotations, after.Labels) != fmt.Sprint(before.Annotations, before.Labels) {
			t.Errorf("the work of settled-%s was written: generation %d to %d", c.Name, before.Generation, after.Generation)
		}
	}
}

func workOf(t *testing.T, name string) *workv1.ManifestWork {
	t.Helper()
	works := worksOf(name)
	if len(works) != 1 {
		t.Fatalf("%d ManifestWorks for %s", len(works), name)
	}
	return works[0].DeepCopy()
}
