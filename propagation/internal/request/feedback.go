// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// feedback is what the managed cluster says about a request, all from one state of
// its Application.
type feedback struct {
	request, owner, refresh, phase, startedAt string
}

func feedbackOf(work *workv1.ManifestWork) feedback {
	var f feedback
	m := applicationStatus(work)
	if m == nil {
		return f
	}
	for i := range m.StatusFeedbacks.Values {
		v := &m.StatusFeedbacks.Values[i]
		if v.Value.String == nil {
			continue
		}
		switch v.Name {
		case contract.FeedbackRequest:
			f.request = *v.Value.String
		case contract.FeedbackOperationOwner:
			f.owner = *v.Value.String
		case contract.FeedbackRefresh:
			f.refresh = *v.Value.String
		case contract.FeedbackOperationPhase:
			f.phase = *v.Value.String
		case contract.FeedbackOperationStartedAt:
			f.startedAt = *v.Value.String
		}
	}
	return f
}

// finished: the request was applied, and nothing of it is left to do.
func (f feedback) finished(sent string, kinds []string) bool {
	return f.request == sent &&
		(f.owner == "" || !slices.Contains(kinds, KindOperation)) &&
		(f.refresh == "" || !slices.Contains(kinds, KindRefresh))
}

// applied: the request was applied.
func (f feedback) applied(sent string) bool {
	return f.request != "" && (f.request == sent || f.request == strings.TrimSuffix(sent, terminateSuffix))
}

// running: Argo CD there is at it, so there is something to terminate.
func (f feedback) running(sent string) bool {
	return f.request == sent && f.owner != "" && f.phase == argocd.OperationRunning && f.startedAt != ""
}

// applicationStatus returns what the agent says about the work's Application.
func applicationStatus(work *workv1.ManifestWork) *workv1.ManifestCondition {
	for i := range work.Status.ResourceStatus.Manifests {
		m := &work.Status.ResourceStatus.Manifests[i]
		if m.ResourceMeta.Group == argocd.Group && m.ResourceMeta.Resource == argocd.ApplicationPlural {
			return m
		}
	}
	return nil
}

// notApplied: the agent tried the work as it is now and could not apply the Application.
func notApplied(work *workv1.ManifestWork) bool {
	m := applicationStatus(work)
	if m == nil {
		return false
	}
	c := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == work.Generation
}
