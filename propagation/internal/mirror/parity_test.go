// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// The hub shows the revisions of several sources, and of the last operation, as the managed cluster does. The
// ApplicationSet controller reads the former. They are removed with the sources.
func TestStatus_showsTheRevisions(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	operation := []string{"operationStatePhase", "Succeeded", "operationStateStartedAt", "2036-11-20T09:30:00Z"}

	report(t, work, slices.Concat(operation, []string{
		"healthStatus", "Healthy", "syncStatus", "Synced", "syncRevisions0", "a", "syncRevisions1", "b",
		"operationStateSyncRevisions0", "a", "operationStateSyncRevisions1", "before",
	})...)
	s := awaitStatus(t, app, "Healthy/Synced@ Succeeded")
	if result := s.OperationState.SyncResult; !slices.Equal(s.Sync.Revisions, []string{"a", "b"}) ||
		!slices.Equal(result.Revisions, []string{"a", "before"}) || result.Revision == nil || *result.Revision != "" {
		t.Errorf("status is %+v", s)
	}

	report(t, work, slices.Concat(operation, []string{"healthStatus", "Healthy", "syncStatus", "Unknown"})...)
	if s = awaitStatus(t, app, "Unknown/Unknown@ Succeeded"); !slices.Equal(s.Sync.Revisions, []string{"a", "b"}) {
		t.Errorf("a comparison that failed took the revisions: %+v", s)
	}

	report(t, work, slices.Concat(healthy, []string{"operationStateSyncRevision", "before"})...)
	s = awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	if result := s.OperationState.SyncResult; len(s.Sync.Revisions) > 0 || len(result.Revisions) > 0 || *result.Revision != "before" {
		t.Errorf("status is %+v", s)
	}
}

// A condition names the first resource that prevents Synced and Healthy, until the resource is fixed.
func TestStatus_namesTheFirstFailingResource(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	report(t, work, "healthStatus", "Degraded", "syncStatus", "Synced", "syncRevision", "r",
		"resourceDegradedKind", "Deployment", "resourceDegradedName", "ui", "resourceDegradedMessage", "no such image")
	s := awaitStatus(t, app, "Degraded/Synced@r DegradedResourceWarning")
	if m := s.Conditions[0].Message; m != "Deployment ui: no such image" {
		t.Errorf("the condition is %q", m)
	}
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

// The time of the managed cluster's last comparison costs no separate write, except for the first
// one after an operation. Without that, Argo CD's notifications controller on the hub sends nothing
// about the operation.
func TestStatusPatch_reportsTheTimeOfTheComparison(t *testing.T) {
	observed := status.Observation{
		Health: argocd.HealthHealthy, Sync: argocd.SyncSynced, Revision: "a", Reported: true, ReconciledAt: "2036-11-20T09:00:00Z",
		Operation: contract.OperationFeedback{Phase: argocd.OperationSucceeded, StartedAt: "2036-11-20T09:30:00Z", FinishedAt: "2036-11-20T09:31:00Z"},
	}
	app := &argocd.Application{}
	for _, step := range []struct{ reason, at, revision, sync, phase, want string }{
		{reason: "the first status has it", at: "2036-11-20T09:00:00Z", revision: "a", want: "2036-11-20T09:00:00Z"},
		{reason: "not before the end of the operation", at: "2036-11-20T09:30:59Z", revision: "a"},
		{reason: "not in the second of its end, if that may be before", at: "2036-11-20T09:31:00Z", revision: "a", sync: argocd.SyncOutOfSync},
		{reason: "after its end", at: "2036-11-20T09:31:00Z", revision: "a", want: "2036-11-20T09:31:00Z"},
		{reason: "not again", at: "2036-11-20T09:35:00Z", revision: "a"},
		{reason: "with another change", at: "2036-11-20T09:39:00Z", revision: "b", want: "2036-11-20T09:39:00Z"},
		{reason: "not while the next runs, which may end in the same second", at: "2036-11-20T09:40:00Z", revision: "c", phase: argocd.OperationRunning},
	} {
		observed.ReconciledAt, observed.Revision = step.at, step.revision
		observed := observed
		if step.sync != "" {
			observed.Sync = step.sync
		}
		if step.phase != "" {
			observed.Operation = contract.OperationFeedback{Phase: step.phase, StartedAt: step.at}
		}
		patch, err := statusPatch(app, observed, request.Run{}, "", time.Now())
		other := step.sync+step.phase != "" // written without the time
		if err != nil || (patch != nil) != (step.want != "" || other) || other && strings.Contains(string(patch), "reconciledAt") {
			t.Fatalf("%s: %s, %v", step.reason, patch, err)
		}
		if step.want == "" {
			continue
		}
		var sent struct {
			Status struct{ ReconciledAt string }
		}
		decode(t, patch, &sent)
		if sent.Status.ReconciledAt != step.want {
			t.Errorf("%s: %s, want %q", step.reason, patch, step.want)
		}
		whole, err := statusPatch(&argocd.Application{}, observed, request.Run{}, "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var written struct{ Status json.RawMessage }
		decode(t, whole, &written)
		app.Status = written.Status
	}
	observed.Reason, observed.ReconciledAt, observed.Sync = status.ChangePending, "2036-11-20T10:00:00Z", argocd.SyncOutOfSync
	if patch, err := statusPatch(app, observed, request.Run{}, "", time.Now()); err != nil || strings.Contains(string(patch), "reconciledAt") {
		t.Errorf("what the hub says by itself was compared by nobody: %s, %v", patch, err)
	}
}

func TestMaybeBefore(t *testing.T) {
	const end, later = "2036-11-20T09:31:00Z", "2036-11-20T09:31:01Z"
	for reason, test := range map[string]struct {
		phase, finished, compared, sync string
		want                            bool
	}{
		"no operation":                         {compared: end, sync: argocd.SyncOutOfSync},
		"one runs":                             {phase: argocd.OperationRunning, compared: end, sync: argocd.SyncSynced, want: true},
		"its changes may be missing":           {phase: argocd.OperationSucceeded, finished: end, compared: end, sync: argocd.SyncOutOfSync, want: true},
		"its changes are there":                {phase: argocd.OperationSucceeded, finished: end, compared: end, sync: argocd.SyncSynced},
		"a failed one waits for no comparison": {phase: argocd.OperationFailed, finished: end, compared: end, sync: argocd.SyncOutOfSync},
		"a second later":                       {phase: argocd.OperationSucceeded, finished: end, compared: later, sync: argocd.SyncOutOfSync},
	} {
		observed := status.Observation{ReconciledAt: test.compared, Sync: test.sync, Operation: contract.OperationFeedback{Phase: test.phase, FinishedAt: test.finished}}
		if got := maybeBefore(observed); got != test.want {
			t.Errorf("%s: got %t", reason, got)
		}
	}
}

// A written status equals the desired one when it returns through the cache, although the cache leaves out
// parts of a large status. Otherwise every reconcile would write again.
func TestStatusPatch_isNothingOnceWritten(t *testing.T) {
	long := contract.Condition{Type: "SyncError", Message: strings.Repeat("x", contract.MaxMessage)}
	operation := contract.OperationFeedback{Phase: argocd.OperationSucceeded, StartedAt: "2036-11-20T09:30:00Z"}
	for name, observed := range map[string]status.Observation{
		"oneSource":      {Revision: "a", Operation: operation, OperationRevision: "a"},
		"large":          {Revision: "a", Operation: operation, OperationRevision: "b", Conditions: []contract.Condition{long}},
		"severalSources": {Revisions: []string{"a", "b"}, Operation: operation, OperationRevisions: []string{"a", "c"}, Conditions: []contract.Condition{long}},
	} {
		t.Run(name, func(t *testing.T) {
			observed.Health, observed.Sync, observed.Reported = argocd.HealthHealthy, argocd.SyncSynced, true
			app := &argocd.Application{}
			app.Labels = map[string]string{contract.PullLabel: "true"}
			app.Annotations = map[string]string{contract.ClusterAnnotation: "cluster1"}
			patch, err := statusPatch(app, observed, request.Run{}, "", time.Now())
			if err != nil || patch == nil {
				t.Fatalf("%s, %v", patch, err)
			}
			var written struct{ Status json.RawMessage }
			decode(t, patch, &written) // without an earlier status, the patch is the whole status
			app.Status = written.Status
			if _, err := manifestcache.TrimApplication(1 << 20)(app); err != nil {
				t.Fatal(err)
			}
			if patch, err = statusPatch(app, observed, request.Run{}, "", time.Now()); err != nil || patch != nil {
				t.Errorf("it would be written again: %s, %v", patch, err)
			}
		})
	}
}
