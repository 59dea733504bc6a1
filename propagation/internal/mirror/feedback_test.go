// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// One Application passes from delivery to an error and back, with the reports of a real agent. The hub's real
// CRD accepts every step.
func TestStatus_followsTheReportsOfTheAgent(t *testing.T) {
	owners := map[string]func(*argocd.Application){
		"standalone": func(*argocd.Application) {},
		"generated": func(a *argocd.Application) {
			yes := true
			a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set", UID: "1", Controller: &yes}}
		},
	}
	for kind, own := range owners {
		t.Run(kind, func(t *testing.T) {
			f := newFleet(t)
			start(t, Options{}, nil)
			cluster := f.cluster().Name
			app := f.app("guestbook", cluster, own)
			awaitStatus(t, app, "Unknown/Unknown@")
			work := f.work(app, cluster)

			report(t, work, "syncStatus", "")
			report(t, work, "healthStatus", "Missing", "syncStatus", "OutOfSync", "syncRevision", "53e28ff2")
			awaitStatus(t, app, "Missing/OutOfSync@53e28ff2")
			report(t, work, "healthStatus", "Progressing", "syncStatus", "OutOfSync", "syncRevision", "53e28ff2",
				"operationStatePhase", "Running", "operationStateStartedAt", "2036-11-20T09:30:00Z")
			awaitStatus(t, app, "Progressing/OutOfSync@53e28ff2 Running")
			report(t, work, healthy...)
			s := awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
			if o := s.OperationState; o.Operation == nil || o.FinishedAt != "2036-11-20T09:31:00Z" || o.Message != "successfully synced" {
				t.Errorf("operation is %+v", o)
			}

			report(t, work, "healthStatus", "Degraded", "healthMessage", "crash loop", "syncStatus", "OutOfSync", "syncRevision", "new",
				"operationStatePhase", "Failed", "operationStateStartedAt", "2036-11-20T10:00:00Z", "operationStateMessage", "one or more objects failed to apply",
				"conditionSyncError", "Failed sync attempt to new")
			s = awaitStatus(t, app, "Degraded/OutOfSync@new Failed SyncError")
			if s.Health.Message != "crash loop" || s.OperationState.FinishedAt != "" || s.Conditions[0].Message != "Failed sync attempt to new" {
				t.Errorf("status is %+v", s)
			}
			report(t, work, healthy...)
			s = awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
			if s.Health.Message != "" {
				t.Errorf("the health message stayed: %s", s.Health.Message)
			}
			if diff := cmp.Diff(string(app.Spec), string(stored(t, app).Spec)); diff != "" {
				t.Errorf("the spec was changed:\n%s", diff)
			}
		})
	}
}

// Status fields of other writers stay.
func TestStatus_keepsFieldsOfOtherWriters(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	awaitStatus(t, app, "Unknown/Unknown@")
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		a.Status = []byte(`{"conditions":[
			{"type":"PullDeliveryWarning","message":"skip-reconcile","lastTransitionTime":"2026-11-20T08:00:00Z"},
			{"type":"SyncError","message":"of another life"}],
			"history":[{"id":7,"revision":"old","deployedAt":"2026-11-20T08:00:00Z"}],
			"health":{"status":"Unknown"},"sync":{"status":"Unknown","comparedTo":{"destination":{"name":"x"}}}}`)
	})
	work := f.work(app, cluster)
	report(t, work, healthy...)
	s := awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded PullDeliveryWarning")
	if at := s.Conditions[0].LastTransitionTime.UTC().Format("15:04"); at != "08:00" {
		t.Errorf("a condition of others got a new time: %s", at)
	}
	var all struct {
		History []map[string]any
		Sync    struct{ ComparedTo map[string]any }
	}
	decode(t, stored(t, app).Status, &all)
	if len(all.History) != 1 || all.Sync.ComparedTo == nil {
		t.Errorf("status lost something: %+v", all)
	}

	// Another client overwrites the mirror's fields, and the mirror restores them.
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		a.Status = []byte(`{"health":{"status":"Healthy"},"sync":{"status":"Unknown"}}`)
	})
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

// A client removes the state of the last operation when it requests the next one. The mirror does not restore
// that state while the operation waits. By default, it writes nothing before the operation begins.
func TestOperation_restoresNoRemovedState(t *testing.T) {
	t.Run("the rest is shown meanwhile", func(t *testing.T) { removed(t, Options{CompareGrace: time.Millisecond}, "Unknown/Synced@53e28ff2") })
	t.Run("the rest is shown with it", func(t *testing.T) {
		if writes := removed(t, Options{CompareGrace: time.Hour}, "Healthy/@"); writes != 1 {
			t.Errorf("%d writes, want 1", writes)
		}
	})
}

// removed returns the number of writes of the Application since the cluster's report during the pending
// operation.
func removed(t *testing.T, o Options, meanwhile string) int64 {
	t.Helper()
	f := newFleet(t)
	writes, _ := start(t, o, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	other := f.app("probe", cluster)
	work, probe := f.work(app, cluster), f.work(other, cluster)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	awaitStatus(t, other, "Unknown/Unknown@")
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		a.Operation, a.Status = json.RawMessage(`{"sync":{"revision":"main"}}`), json.RawMessage(`{"health":{"status":"Healthy"}}`)
	})
	count := writes.Load()
	report(t, work, without(healthy, "healthStatus")...)
	report(t, probe, healthy...)
	awaitStatus(t, other, "Healthy/Synced@53e28ff2 Succeeded")
	awaitStatus(t, app, meanwhile)
	const claim, later = "operation-1", "2036-11-20T09:40:00Z"
	ask(t, app, work, claim, "kargo-controller")
	report(t, work, append(without(healthy, "operationStateStartedAt"), "operationStateStartedAt", later, contract.FeedbackRequest, claim)...)
	if s := awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded"); s.operator() != "kargo-controller" || s.OperationState.StartedAt != later {
		t.Errorf("the operation is %+v", s.OperationState)
	}
	return writes.Load() - count - 1 // without the probe's write
}
