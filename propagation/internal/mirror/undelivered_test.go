// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// writeSpec writes the spec that delivery would write for the Application.
func writeSpec(t *testing.T, app *argocd.Application, work *workv1.ManifestWork) {
	t.Helper()
	want, err := payload.ManifestWork(payload.Inputs{Application: stored(t, app)})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) {
		w.Spec = want.Spec
		w.Annotations[contract.ApplicationSpecAnnotation] = want.Annotations[contract.ApplicationSpecAnnotation]
	})
}

func project(t *testing.T, app *argocd.Application, name string) {
	t.Helper()
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"` + name + `"}`)
	})
}

// A change that is not delivered is not shown as done, whatever the managed cluster reports about the former
// spec. From the first status after the change to the first comparison after its delivery, a progressive sync
// never reads Synced.
func TestChange_isNotDoneBeforeItsDelivery(t *testing.T) {
	f := newFleet(t)
	var changed, synced atomic.Bool
	watched := patchChecker(func(patch map[string]json.RawMessage, _ string) {
		if changed.Load() && strings.Contains(string(patch["status"]), `"Synced"`) {
			synced.Store(true)
		}
	})
	// No test run reaches the second grace period, so only a report of the cluster ends it.
	options := Options{ApplyGrace: time.Millisecond, CompareGrace: time.Hour}
	_, stop := start(t, options, watched)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	writeSpec(t, app, work)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

	changed.Store(true)
	project(t, app, "other")
	const undelivered = "Healthy/OutOfSync@53e28ff2 Succeeded ChangeUndeliveredWarning"
	if s := awaitStatus(t, app, undelivered); !strings.Contains(s.Conditions[0].Message, "not delivered") {
		t.Errorf("the condition says %q", s.Conditions[0].Message)
	}
	version := stored(t, app).ResourceVersion
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...) // Argo CD compares with the former spec
	stop()
	writes, _ := start(t, options, watched)
	probe := f.app("probe", cluster)
	report(t, f.work(probe, cluster), "healthStatus", "Missing", "syncStatus", "OutOfSync")
	awaitStatus(t, probe, "Missing/OutOfSync@")
	if n := writes.Load(); n > 2 || stored(t, app).ResourceVersion != version {
		t.Errorf("%d writes after a restart where the probe needs 2 at most: %s", n, statusOf(t, app).short())
	}

	writeSpec(t, app, work)
	awaitStatus(t, app, "Progressing/OutOfSync@53e28ff2 Succeeded")
	applied(t, work)
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...) // still the same report
	if synced.Load() {
		t.Error("the Application was Synced before its change was delivered and compared")
	}
	changed.Store(false)
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:41:00Z")...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

// A change that is reverted, or delivered at once, leaves no condition.
func TestChange_leavesNoConditionOnceDelivered(t *testing.T) {
	f := newFleet(t)
	_, stop := start(t, Options{ApplyGrace: time.Millisecond, CompareGrace: time.Millisecond}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	writeSpec(t, app, work)
	report(t, work, healthy...)
	const fine = "Healthy/Synced@53e28ff2 Succeeded"
	awaitStatus(t, app, fine)
	before := stored(t, app).Spec
	project(t, app, "other")
	awaitStatus(t, app, "Healthy/OutOfSync@53e28ff2 Succeeded ChangeUndeliveredWarning")
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) { a.Spec = before })
	awaitStatus(t, app, fine)

	stop()
	writes, _ := start(t, Options{ApplyGrace: time.Hour, CompareGrace: time.Hour}, nil)
	project(t, app, "another")
	writeSpec(t, app, work)
	report(t, work, without(healthy, "healthStatus")...)
	awaitStatus(t, app, "Unknown/Synced@53e28ff2 Succeeded")
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes: a change that was delivered at once was shown as missing", n)
	}

	// A work of an earlier version has no hash, so no change counts as undelivered.
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { delete(w.Annotations, contract.ApplicationSpecAnnotation) })
	project(t, app, "last")
	report(t, work, healthy...)
	awaitStatus(t, app, fine)
}
