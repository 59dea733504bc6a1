// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

var (
	delivered = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	spoken    = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	lost      = time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	up        = Cluster{Name: "c1", Exists: true, Available: true}
	down      = Cluster{Name: "c1", Exists: true, Since: lost, Message: "Registration agent stopped updating its lease."}
)

// work returns an applied work that reports a healthy Application, changed by edits.
func work(edits ...func(*workv1.ManifestWork)) *workv1.ManifestWork {
	w := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "c1", Name: "guestbook-12345", UID: "work", Generation: 3, CreationTimestamp: metav1.NewTime(delivered),
			Annotations: map[string]string{contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: "guestbook"},
		},
		Status: workv1.ManifestWorkStatus{
			Conditions: []metav1.Condition{
				{Type: workv1.WorkAvailable, Status: metav1.ConditionTrue},
				{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 3},
			},
			ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{
				{
					ResourceMeta: workv1.ManifestResourceMeta{Kind: "Namespace", Resource: "namespaces", Name: "guestbook"},
					Conditions:   []metav1.Condition{{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue}},
				},
				{
					ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: "elsewhere", Name: "guestbook"},
					Conditions: []metav1.Condition{
						{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(delivered)},
						{Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(delivered)},
						{Type: "StatusFeedbackSynced", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(spoken)},
					},
				},
			}},
		},
	}
	feedback("healthStatus", "Healthy", "syncStatus", "Synced", "syncRevision", "53e28ff2",
		"operationStatePhase", "Succeeded", "operationStateStartedAt", "2026-11-20T09:30:00Z",
		"operationStateFinishedAt", "2026-11-20T09:31:00Z", "operationStateMessage", "successfully synced")(w)
	for _, edit := range edits {
		edit(w)
	}
	return w
}

func feedback(pairs ...string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		var values []workv1.FeedbackValue
		for i := 0; i < len(pairs); i += 2 {
			values = append(values, workv1.FeedbackValue{Name: pairs[i], Value: workv1.FieldValue{Type: workv1.String, String: &pairs[i+1]}})
		}
		w.Status.ResourceStatus.Manifests[1].StatusFeedbacks.Values = values
	}
}

func applied(status metav1.ConditionStatus, generation int64, message string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		w.Status.Conditions[1] = metav1.Condition{Type: workv1.WorkApplied, Status: status, ObservedGeneration: generation, Message: message}
	}
}

var operation = contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2026-11-20T09:30:00Z", FinishedAt: "2026-11-20T09:31:00Z", Message: "successfully synced"}

func TestWork(t *testing.T) {
	healthy := Observation{
		Health: "Healthy", Sync: "Synced", Revision: "53e28ff2", Operation: operation,
		Reported: true, Work: "work", ReportedAt: spoken,
	}
	with := func(edit func(*Observation)) Observation {
		o := healthy
		edit(&o)
		return o
	}
	const silent = "Argo CD on cluster c1 has reported nothing yet: check that it runs and watches the namespace of the Application"
	cases := map[string]struct {
		reason  string
		work    *workv1.ManifestWork
		cluster Cluster
		want    Observation
	}{
		"healthy": {reason: "what the managed cluster says is what is said", work: work(), cluster: up, want: healthy},
		"order": {
			reason: "the Application is found by what it is, wherever it stands",
			work: work(func(w *workv1.ManifestWork) {
				m := w.Status.ResourceStatus.Manifests
				m[0], m[1] = m[1], m[0]
			}), cluster: up, want: healthy,
		},
		"new": {
			reason: "a work that no agent has seen is Unknown, not Progressing",
			work:   work(func(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} }), cluster: up,
			want: Observation{Health: "Unknown", Sync: "Unknown", Work: "work"},
		},
		"silent": {
			reason: "applied, but Argo CD has not looked yet, or does not watch the namespace: Unknown",
			work:   work(feedback()), cluster: up,
			want: Observation{Health: "Unknown", HealthMessage: silent, Sync: "Unknown", Work: "work"},
		},
		"stranger": {
			reason: "another Application's feedback is not this one's",
			work:   work(func(w *workv1.ManifestWork) { w.Annotations[contract.HubNameAnnotation] = "other" }), cluster: up,
			want: Observation{Health: "Unknown", HealthMessage: silent, Sync: "Unknown", Work: "work"},
		},
		"beforeComparison": {
			reason: "Argo CD writes an empty sync status before it first compares",
			work:   work(feedback("syncStatus", "")), cluster: up,
			want: Observation{Health: "Unknown", Sync: "Unknown", Reported: true, Work: "work", ReportedAt: spoken},
		},
		"comparisonError": {
			reason: "a comparison that failed leaves stale health and an empty revision",
			work: work(feedback("healthStatus", "Healthy", "syncStatus", "Unknown", "syncRevision", "", "operationStatePhase", "Succeeded",
				"operationStateStartedAt", "2026-11-20T09:30:00Z", "operationStateFinishedAt", "soon", "conditionComparisonError", "app path does not exist")), cluster: up,
			want: Observation{
				Health: "Unknown", HealthMessage: "Argo CD could not compare it with its source; health before that: Healthy", Sync: "Unknown",
				Operation: contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2026-11-20T09:30:00Z"}, Conditions: []contract.Condition{{Type: "ComparisonError", Message: "app path does not exist"}},
				Reported: true, Work: "work", ReportedAt: spoken,
			},
		},
		"reconciledAt": {
			reason: "the youngest time that the cluster wrote is that of its last report",
			work:   work(feedback("healthStatus", "Degraded", "healthMessage", "crash loop", "syncStatus", "OutOfSync", "reconciledAt", "2026-11-20T10:30:00Z")), cluster: up,
			want: Observation{ReconciledAt: "2026-11-20T10:30:00Z",
				Health: "Degraded", HealthMessage: "crash loop", Sync: "OutOfSync", Reported: true, Work: "work", ReportedAt: spoken.Add(30 * time.Minute),
			},
		},
		"halfOperation": {
			reason: "Argo CD writes an operation without a phase at times; it is not one",
			work:   work(feedback("healthStatus", "Healthy", "syncStatus", "Synced", "operationStateStartedAt", "2026-11-20T10:30:00Z", "reconciledAt", "yesterday")), cluster: up,
			want: with(func(o *Observation) { o.Operation, o.Revision = contract.OperationFeedback{}, "" }),
		},
		"timeless": {
			reason: "an operation without a time would be refused by the hub",
			work:   work(feedback("healthStatus", "Healthy", "syncStatus", "Synced", "operationStatePhase", "Running")), cluster: up,
			want: with(func(o *Observation) { o.Operation, o.Revision = contract.OperationFeedback{}, "" }),
		},
		"pending": {
			reason: "a change that the agent has not applied is not yesterday's Healthy",
			work:   work(applied(metav1.ConditionTrue, 2, "")), cluster: up,
			want: with(func(o *Observation) {
				o.Health, o.Sync, o.Reason = "Progressing", "OutOfSync", ChangePending
				o.Message = "cluster c1 has not reported on the last change yet"
				o.HealthMessage = o.Message
			}),
		},
		"operationOnly": {
			reason: "an operation put in or taken out is no change to wait for",
			work: work(applied(metav1.ConditionTrue, 2, ""), func(w *workv1.ManifestWork) {
				w.Annotations[contract.ChangeGenerationAnnotation] = "2"
			}), cluster: up, want: healthy,
		},
		"impossibleChange": {
			reason: "a change generation from the future is not believed",
			work:   work(func(w *workv1.ManifestWork) { w.Annotations[contract.ChangeGenerationAnnotation] = "99" }), cluster: up, want: healthy,
		},
		"applyFailed": {
			reason: "a change that cannot be applied says so in the agent's words",
			work: work(applied(metav1.ConditionFalse, 3, "Failed to apply manifest work"), func(w *workv1.ManifestWork) {
				w.Status.ResourceStatus.Manifests[0].Conditions[0] = metav1.Condition{Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Message: "forbidden"}
			}), cluster: up,
			want: with(func(o *Observation) {
				o.Health, o.Sync, o.Reason = "Unknown", "OutOfSync", ApplyFailed
				o.Message = "cluster c1 could not apply the last change: Namespace guestbook: forbidden"
				o.HealthMessage = "health before that change: Healthy"
			}),
		},
		"neverApplied": {
			reason: "nothing was ever applied: Unknown, and why",
			work:   work(feedback(), applied(metav1.ConditionFalse, 3, "Failed to apply manifest work")), cluster: up,
			want: Observation{Work: "work",
				Health: "Unknown", Sync: "Unknown", Reason: ApplyFailed,
				Message: "cluster c1 could not apply the last change: Failed to apply manifest work",
			},
		},
		"unreadable": {
			reason: "the agent keeps showing the last feedback of an Application that is gone",
			work: work(func(w *workv1.ManifestWork) {
				w.Status.ResourceStatus.Manifests[1].Conditions[1] = metav1.Condition{Type: workv1.ManifestAvailable, Status: metav1.ConditionFalse, Message: "Resource is not available"}
			}), cluster: up,
			want: with(func(o *Observation) {
				o.Health, o.Sync, o.Reason = "Unknown", "Unknown", ApplicationUnreadable
				o.Message = "cluster c1: Resource is not available; last report 2026-11-20T10:00:00Z: health Healthy, sync Synced at 53e28ff2, operation Succeeded"
				o.HealthMessage = "last known health: Healthy"
			}),
		},
		"unreachable": {
			reason: "a cluster that is away is Unknown, with the time and the last words",
			work:   work(), cluster: down,
			want: with(func(o *Observation) {
				o.Health, o.Sync, o.Reason = "Unknown", "Unknown", ClusterUnreachable
				o.Message = "cluster c1 is not available since 2026-11-20T11:00:00Z (Registration agent stopped updating its lease); " +
					"last report 2026-11-20T10:00:00Z: health Healthy, sync Synced at 53e28ff2, operation Succeeded"
				o.HealthMessage = "last known health: Healthy"
			}),
		},
		"unreachableFirst": {
			reason: "being away counts more than a change that was not applied",
			work:   work(applied(metav1.ConditionTrue, 2, "")), cluster: Cluster{Name: "c1"},
			want: with(func(o *Observation) {
				o.Health, o.Sync, o.Reason = "Unknown", "Unknown", ClusterUnreachable
				o.Message = "cluster c1 does not exist on the hub; last report 2026-11-20T10:00:00Z: health Healthy, sync Synced at 53e28ff2, operation Succeeded"
				o.HealthMessage = "last known health: Healthy"
			}),
		},
		"unreachableNew": {
			reason: "a cluster that never spoke has no last words",
			work:   work(func(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} }), cluster: Cluster{Name: "c1", Exists: true},
			want: Observation{
				Health: "Unknown", Sync: "Unknown", Work: "work", Reason: ClusterUnreachable,
				Message: "cluster c1 is not available; it has never reported this Application",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := c.work.DeepCopy()
			if diff := cmp.Diff(c.want, Work(c.work, c.cluster)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(before, c.work); diff != "" {
				t.Errorf("the work was changed:\n%s", diff)
			}
			Trim(&c.work.Status)
			if diff := cmp.Diff(c.want, Work(c.work, c.cluster)); diff != "" {
				t.Errorf("a trimmed work says something else (-want +got):\n%s", diff)
			}
		})
	}
}

// A report repeats an earlier one if the Application is the same, although the agent has set its conditions
// anew. A new comparison of Argo CD is a new report, although nothing else has changed.
func TestWorkStatus_repeatUntilTheNextComparison(t *testing.T) {
	values := func(reconciledAt string, more ...string) func(*workv1.ManifestWork) {
		return feedback(append([]string{"healthStatus", "Healthy", "syncStatus", "Synced", "reconciledAt", reconciledAt}, more...)...)
	}
	refused := func(w *workv1.ManifestWork) {
		c := &w.Status.ResourceStatus.Manifests[1].Conditions[0]
		c.Status, c.Message, c.LastTransitionTime = metav1.ConditionFalse, "forbidden", metav1.NewTime(lost)
	}
	const first, second = "2026-11-20T09:31:00Z", "2026-11-20T09:34:00Z"
	before := Read(work(values(first), refused, applied(metav1.ConditionFalse, 3, "failed")))
	for name, c := range map[string]struct {
		work                    *workv1.ManifestWork
		repeats, sameComparison bool
	}{
		"applied":         {work: work(values(first)), repeats: true, sameComparison: true},
		"compared":        {work: work(values(second))},
		"another message": {work: work(values(first, "healthMessage", "m")), sameComparison: true},
		"no report":       {work: work(feedback())},
	} {
		after := Read(c.work)
		if repeats, same := after.Repeats(&before), after.SameComparison(&before); repeats != c.repeats || same != c.sameComparison {
			t.Errorf("%s: repeats %t, the same comparison %t", name, repeats, same)
		}
	}
	shown := Read(work(applied(metav1.ConditionTrue, 2, "")))
	if o := shown.Observe(up); o.Reason != ChangePending || !ShowsReason([]byte(o.HealthMessage)) {
		t.Errorf("the health message of a pending change, %q, shows no reason", o.HealthMessage)
	}
}
