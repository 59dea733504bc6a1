// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Work returns the observation of the Application that a ManifestWork carries. The work may be
// trimmed by [Trim], and does not change. cluster is the state of the work's cluster.
func Work(work *workv1.ManifestWork, cluster Cluster) Observation {
	facts := Read(work)
	o := facts.Observe(cluster)
	o.Work = work.UID
	return o
}

// read copies the agent's report about the Application.
func (o *Observation) read(manifest *workv1.ManifestCondition) {
	f, reported := contract.ParseFeedback(manifest.StatusFeedbacks.Values)
	if !reported {
		return
	}
	o.Reported = true
	o.HealthMessage, o.Revision, o.Revisions, o.Conditions = f.HealthMessage, f.Revision, f.Revisions, f.Conditions
	if f.Health != "" {
		o.Health = f.Health
	}
	if f.Sync != "" {
		o.Sync = f.Sync
	}
	if o.Operation = whole(f.Operation); o.Operation.Phase != "" {
		o.OperationRevision, o.OperationRevisions = f.OperationRevision, f.OperationRevisions
	}
	if c, found := resourceCondition(f.Resources, o); found {
		o.Conditions = append(o.Conditions, c)
	}
	o.ReconciledAt, o.ReportedAt = f.ReconciledAt, reportedAt(manifest, f.ReconciledAt)
	if o.Sync == argocd.SyncUnknown {
		o.unknown("Argo CD could not compare it with its source; health before that:")
	}
}

// whole returns a complete operation or none. Argo CD sometimes writes one without a phase, and
// completes it later.
func whole(f contract.OperationFeedback) contract.OperationFeedback {
	if f.Phase == "" || f.StartedAt == "" {
		return contract.OperationFeedback{}
	}
	return f
}

// application finds the Application in a work's status by its kind. A work carries one, and further
// ones in the agent's report do not count.
func application(work *workv1.ManifestWork) *workv1.ManifestCondition {
	manifests := contract.Clip(work.Status.ResourceStatus.Manifests, contract.MaxManifests, &contract.Rejected{})
	i := slices.IndexFunc(manifests, func(m workv1.ManifestCondition) bool { return isApplication(&m.ResourceMeta) })
	if i < 0 || manifests[i].ResourceMeta.Name != work.Annotations[contract.HubNameAnnotation] {
		return nil
	}
	return &manifests[i]
}

// changeGeneration is the generation that the agent must have observed before its feedback counts
// for the present change.
func changeGeneration(work *workv1.ManifestWork) int64 {
	g, err := strconv.ParseInt(work.Annotations[contract.ChangeGenerationAnnotation], 10, 64)
	if err != nil || g < 1 || g > work.Generation {
		return work.Generation
	}
	return g
}

// unreadable returns the agent's condition if it cannot read the Application. The feedback is then
// old.
func unreadable(manifest *workv1.ManifestCondition) *metav1.Condition {
	if manifest == nil {
		return nil
	}
	if c := condition(manifest.Conditions, workv1.ManifestAvailable); c != nil && c.Status != metav1.ConditionTrue {
		return c
	}
	return nil
}

// reportedAt returns the latest time that the managed cluster wrote. The agent updates the time of
// its feedback condition whenever a value changes.
func reportedAt(manifest *workv1.ManifestCondition, reconciledAt string) time.Time {
	last, err := time.Parse(time.RFC3339, reconciledAt)
	if err != nil {
		last = time.Time{}
	}
	for _, t := range []string{workv1.ManifestApplied, workv1.ManifestAvailable, feedbackSynced} {
		if c := condition(manifest.Conditions, t); c != nil && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last.UTC()
}
