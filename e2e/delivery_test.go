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

// An operation asked for on the hub runs once on the managed cluster, however often
// propagation restarts around it.
func TestSyncOnce(t *testing.T) {
	onEachCluster(t, func(t *testing.T, cluster string) {
		t.Helper()
		syncOnce(t, "sync-once-"+cluster, cluster, restartPropagation)
	})
}

// syncOnce does the same whatever begin does to propagation: once after the operation
// was asked for, and once after it is over.
func syncOnce(t *testing.T, name, cluster string, begin func(*testing.T)) {
	t.Helper()
	a := create(t, name, cluster, false)
	await(t, name+" to be OutOfSync on the hub", func() (bool, string) {
		seen, _ := view.Application("hub", name)
		return seen.Sync == argocd.SyncOutOfSync, seen.String()
	})
	patch(t, a, `{"operation":{"initiatedBy":{"username":"e2e"},"sync":{"revision":"main"}}}`)
	begin(t)
	awaitWell(t, "hub", name)
	await(t, "the hub to have no operation left", func() (bool, string) {
		hub := &argocd.Application{}
		err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(a), hub)
		return err == nil && len(hub.Operation) == 0, fmt.Sprintf("%v %s", err, hub.Operation)
	})
	first := operationOf(t, cluster, name)
	begin(t)
	// What propagation does for another Application after it has started again, it
	// has also had the time to do for this one.
	create(t, name+"-after", cluster, true)
	awaitWell(t, "hub", name+"-after")
	last := operationOf(t, cluster, name)
	if last.entries != 1 || last.startedAt != first.startedAt {
		t.Errorf("%d entries in the history, operation started at %s; want one, at %s", last.entries, last.startedAt, first.startedAt)
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

// The hub Application keeps its finalizer until the managed cluster has proven that
// nothing is left, and goes then.
func TestDeleteWaitsForThePrune(t *testing.T) { onEachCluster(t, deleteWaitsForThePrune) }

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
		there, ok := view.Application(cluster, name)
		return ok && there.Deleting, fmt.Sprintf("found: %t, deleting: %t", ok, there.Deleting)
	})
	await(t, "the hub Application to say what it waits for", func() (bool, string) {
		hub, ok := view.Application("hub", name)
		return ok && hub.Deleting && hub.Message() != "", fmt.Sprintf("found: %t: %s", ok, hub)
	})
	hub := &argocd.Application{}
	if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(a), hub); err != nil {
		t.Fatalf("the hub Application is gone before its workload: %v", err)
	}
	if !configMapIsThere(t, cluster, name) {
		t.Error("the workload is gone although Argo CD was not there to prune it")
	}
	if err := argo.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the hub Application to go", func() (bool, string) {
		hub, ok := view.Application("hub", name)
		return !ok, hub.String()
	})
	if configMapIsThere(t, cluster, name) {
		t.Error("the hub Application is gone and its workload is not")
	}
}

// An Application without the pull label any more is withdrawn, and stays on the hub.
func TestWithdrawByLabel(t *testing.T) { onEachCluster(t, withdrawByLabel) }

func withdrawByLabel(t *testing.T, cluster string) {
	t.Helper()
	name := "unlabelled-" + cluster
	a := create(t, name, cluster, true)
	awaitWell(t, "hub", name)
	patch(t, a, `{"metadata":{"labels":{"`+contract.PullLabel+`":null}}}`)
	await(t, "the work and the managed copy to go", func() (bool, string) {
		works := worksOf(name)
		_, there := view.Application(cluster, name)
		return len(works) == 0 && !there, fmt.Sprintf("works: %v, on %s: %t", works, cluster, there)
	})
	if _, ok := view.Application("hub", name); !ok {
		t.Error("the hub Application is gone as well")
	}
	patch(t, a, `{"metadata":{"finalizers":null}}`) // it is the user's own affair now, and no Argo CD of the hub runs here
}

func worksOf(name string) []*workv1.ManifestWork {
	return slices.DeleteFunc(view.Works(), func(w *workv1.ManifestWork) bool { return w.Annotations[contract.HubNameAnnotation] != name })
}

// A restart over a settled fleet writes nothing: no work changes.
func TestRestartWritesNothing(t *testing.T) { onEachCluster(t, restartWritesNothing) }

func restartWritesNothing(t *testing.T, cluster string) {
	t.Helper()
	name := "settled-" + cluster
	create(t, name, cluster, true)
	awaitWell(t, "hub", name)
	before := workOf(t, name)
	restartPropagation(t)
	create(t, name+"-after", cluster, true)
	awaitWell(t, "hub", name+"-after")
	after := workOf(t, name)
	if after.Generation != before.Generation || fmt.Sprint(after.Annotations, after.Labels) != fmt.Sprint(before.Annotations, before.Labels) {
		t.Errorf("the work was written: generation %d to %d", before.Generation, after.Generation)
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
