// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func del(t *testing.T, o client.Object) {
	t.Helper()
	if err := hub.client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete %T %s: %v", o, o.GetName(), err)
	}
}

// While an Application moves it has two works. Only the one on its target counts, and an operation
// on the former cluster does not belong to the new one.
func TestMove_showsOnlyTheTarget(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	from, to := f.cluster().Name, f.cluster().Name
	app := f.app("guestbook", from)
	old := f.work(app, from)
	report(t, old, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

	testkit.Edit(t, hub.client, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = to })
	awaitStatus(t, app, "Unknown/Unknown@")
	next := f.work(app, to)
	report(t, old, "healthStatus", "Degraded", "syncStatus", "OutOfSync", "syncRevision", "old")
	report(t, next, "healthStatus", "Missing", "syncStatus", "OutOfSync", "syncRevision", "new")
	awaitStatus(t, app, "Missing/OutOfSync@new")
	del(t, old)
	report(t, next, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

// A re-created Application does not inherit the last report of a work that is being deleted.
func TestRecreation_inheritsNoReport(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	first := f.app("guestbook", cluster)
	old := f.work(first, cluster)
	testkit.Edit(t, hub.client, old, func(w *workv1.ManifestWork) { w.Finalizers = []string{"test.example.com/agent"} })
	report(t, old, healthy...)
	awaitStatus(t, first, "Healthy/Synced@53e28ff2 Succeeded")
	del(t, first)
	del(t, old)
	second := f.app("guestbook", cluster)
	awaitStatus(t, second, "Unknown/Unknown@")
	work := f.work(second, cluster)
	report(t, old, healthy...)
	report(t, work, "healthStatus", "Missing", "syncStatus", "OutOfSync")
	awaitStatus(t, second, "Missing/OutOfSync@")
	testkit.Edit(t, hub.client, old, func(w *workv1.ManifestWork) { w.Finalizers = nil })
}

// While a deleted Application waits for the end of its work, its status still follows the cluster.
func TestDeletion_followsTheCluster(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := f.work(app, cluster)
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { w.Finalizers = []string{"test.example.com/agent"} })
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	del(t, app)
	del(t, work)
	report(t, work, "healthStatus", "Missing", "syncStatus", "OutOfSync", "conditionDeletionError", "cannot prune")
	awaitStatus(t, app, "Missing/OutOfSync@ Succeeded DeletionError")
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { w.Finalizers = nil })
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) { a.Finalizers = nil })
}

// A removed Application is shown as Unknown. If the hub's own Argo CD may write the status of an Application,
// the mirror does not write it.
func TestRemoval_leavesTheStatusUnknown(t *testing.T) {
	f := newFleet(t)
	writes, _ := start(t, Options{}, nil)
	cluster := f.cluster().Name
	withdrawn := f.app("withdrawn", cluster)
	work := f.work(withdrawn, cluster)
	report(t, work, healthy...)
	awaitStatus(t, withdrawn, "Healthy/Synced@53e28ff2 Succeeded")
	del(t, work)
	awaitStatus(t, withdrawn, "Unknown/Unknown@")

	count := writes.Load()
	hubs := f.app("hubs", cluster, func(a *argocd.Application) {
		delete(a.Annotations, argocd.SkipReconcileAnnotation)
		a.Status = []byte(`{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`)
	})
	plain := f.app("plain", "", func(a *argocd.Application) { a.Labels, a.Annotations = nil, nil })
	probe := f.app("probe", cluster)
	awaitStatus(t, probe, "Unknown/Unknown@")
	awaitStatus(t, hubs, "Healthy/Synced@")
	awaitStatus(t, plain, "/@")
	if n := writes.Load() - count; n != 1 {
		t.Errorf("%d writes, want the probe's", n)
	}
}

// An Application without a true label still shows its delivery while one exists. When the delivery is removed, the
// status becomes Unknown once. The next writer of the status is another one.
func TestRemoval_showsTheDeliveryWithoutATrueLabel(t *testing.T) {
	label := func(value string) func(*argocd.Application) {
		return func(a *argocd.Application) { a.Labels[contract.PullLabel] = value }
	}
	for name, change := range map[string]func(*argocd.Application){
		"no boolean":    label("yes"),
		"false":         label("false"),
		"no label":      func(a *argocd.Application) { delete(a.Labels, contract.PullLabel) },
		"no annotation": func(a *argocd.Application) { delete(a.Annotations, contract.ClusterAnnotation) },
		"neither": func(a *argocd.Application) {
			delete(a.Labels, contract.PullLabel)
			delete(a.Annotations, contract.ClusterAnnotation)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			options := Options{CompareGrace: time.Millisecond}
			_, stop := start(t, options, nil)
			cluster := f.cluster()
			app := f.app("guestbook", cluster.Name)
			work := f.work(app, cluster.Name)
			writeSpec(t, app, work)
			testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { w.Finalizers = []string{"test.example.com/agent"} })
			report(t, work, healthy...)
			awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

			testkit.Edit(t, hub.client, app, change)
			report(t, work, append(without(healthy, "healthStatus"), "healthStatus", "Degraded")...)
			awaitStatus(t, app, "Degraded/Synced@53e28ff2 Succeeded")
			available(t, cluster, "False")
			awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
			stop()
			_, stop = start(t, options, nil)
			available(t, cluster, "True")
			awaitStatus(t, app, "Degraded/Synced@53e28ff2 Succeeded")
			del(t, work)
			awaitStatus(t, app, "Unknown/Unknown@")

			testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { w.Finalizers = nil })
			other := f.app("other", cluster.Name)
			report(t, f.work(other, cluster.Name), healthy...)
			awaitStatus(t, other, "Healthy/Synced@53e28ff2 Succeeded") // so the end of the work has been observed
			testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
				a.Status = []byte(`{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`)
			})
			probe := f.app("probe", cluster.Name)
			awaitStatus(t, probe, "Unknown/Unknown@")
			awaitStatus(t, app, "Healthy/Synced@")
			stop()
		})
	}
}

// A restored hub has another UID for the Application, and its delivery waits. Without a true label the status
// still follows the delivery.
func TestRemoval_showsARestoredDeliveryWithoutATrueLabel(t *testing.T) {
	f := newFleet(t)
	start(t, Options{CompareGrace: time.Millisecond}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "yes" })
	former := app.DeepCopy()
	former.UID = "99999999-0000-4000-8000-000000000000"
	work := f.work(former, cluster)
	writeSpec(t, app, work)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

// The mirror may observe the end of a work only after it. The status becomes Unknown nevertheless.
func TestRemoval_leavesTheStatusUnknownWithoutAPullLabel(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "false" })
	del(t, work)
	awaitStatus(t, app, "Unknown/Unknown@")
}

// An Application that is no longer pulled keeps its status, without the mirror's own warning, if the hub's own
// Argo CD has taken it over. So does an Application that was never delivered.
func TestRemoval_keepsTheStatusWithoutThePullLabel(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	work := f.work(app, cluster.Name)
	report(t, work, append(healthy, "conditionSyncError", "m")...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded SyncError")
	available(t, cluster, "False")
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded SyncError ClusterUnreachableWarning")
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		delete(a.Labels, contract.PullLabel)
		delete(a.Annotations, argocd.SkipReconcileAnnotation)
	})
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded SyncError")
	report(t, work, healthy...)
	del(t, work)
	never := f.app("never", cluster.Name, func(a *argocd.Application) {
		a.Labels[contract.PullLabel] = "false"
		a.Status = []byte(`{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`)
	})
	probe := f.app("probe", cluster.Name)
	awaitStatus(t, probe, "Unknown/Unknown@")
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded SyncError")
	awaitStatus(t, never, "Healthy/Synced@")
}
