// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Aggregation writes exactly the sample of the report contract.
func TestReport_equalsTheSampleOfTheContract(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.applicationSet("guestbook")
	c1, c2, c3 := w.cluster("cluster1", metav1.ConditionTrue), w.cluster("cluster2", metav1.ConditionTrue), w.cluster("cluster3", metav1.ConditionTrue)
	a1, a2, a3 := app{"guestbook", "one", c1}, app{"guestbook", "two", c2}, app{"guestbook", "three", c3}
	for _, a := range []app{a3, a1, a2} {
		w.deliver(a)
	}
	failure := `Failed sync attempt to 53e28ff2: one or more objects failed to apply, reason: namespaces "guestbook" not found (retried 5 times).`
	w.report(a1, values{
		contract.FeedbackHealthStatus: "Missing", contract.FeedbackSyncStatus: "OutOfSync", contract.FeedbackSyncRevision: "53e28ff2",
		contract.FeedbackOperationPhase: "Failed", contract.FeedbackOperationStartedAt: "2026-11-20T10:00:00Z",
		contract.FeedbackOperationMessage: `one or more objects failed to apply, reason: namespaces "guestbook" not found (retried 5 times).`,
		"conditionSyncError":              failure,
	})
	progressing := healthy()
	progressing[contract.FeedbackHealthStatus] = "Progressing"
	w.report(a2, progressing)
	w.report(a3, progressing)

	row := func(a app, health, sync, phase string, conditions ...v1alpha1.Condition) v1alpha1.ClusterCondition {
		return v1alpha1.ClusterCondition{
			Cluster: a.cluster, HealthStatus: health, SyncStatus: sync, OperationStateStartedAt: "2026-11-20T10:00:00Z", OperationStatePhase: phase,
			SyncRevision: "53e28ff2", App: w.namespace + "/" + a.name + "/" + a.cluster + "/" + a.work(), Conditions: conditions,
		}
	}
	want := v1alpha1.AppSetStatuses{
		ClusterConditions: []v1alpha1.ClusterCondition{
			row(a1, "Missing", "OutOfSync", "Failed", v1alpha1.Condition{Type: "SyncError", Message: failure}),
			row(a2, "Progressing", "Synced", "Succeeded"),
			row(a3, "Progressing", "Synced", "Succeeded"),
		},
		Summary: v1alpha1.ReportSummary{Clusters: "3", Synced: "2", NotSynced: "1", Healthy: "0", NotHealthy: "3", InProgress: "2"},
	}
	testkit.Eventually(t, "the report of the contract", func() error {
		report, err := w.read("guestbook")
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, report.Statuses); diff != "" {
			return errors.New(diff)
		}
		if label := report.Labels[contract.ReportLabel]; label != w.namespace+".guestbook" {
			return errors.New("label " + label)
		}
		return nil
	})
}
