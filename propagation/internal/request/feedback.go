// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// feedback is the managed cluster's report about a request. All values come from one state of its
// Application.
type feedback struct {
	request, owner, refresh, phase, startedAt string
}

func feedbackOf(work *manifestcache.Work) feedback {
	operation := work.Facts.Operation()
	return feedback{
		request: work.Feedback(contract.FeedbackRequest), owner: work.Feedback(contract.FeedbackOperationOwner),
		refresh: work.Feedback(contract.FeedbackRefresh), phase: operation.Phase, startedAt: operation.StartedAt,
	}
}

// finished reports whether the request was applied and all its kinds are done.
func (f feedback) finished(sent string, kinds []string) bool {
	return f.request == sent &&
		(f.owner == "" || !slices.Contains(kinds, KindOperation)) &&
		(f.refresh == "" || !slices.Contains(kinds, KindRefresh))
}

// applied reports whether the request was applied.
func (f feedback) applied(sent string) bool {
	return f.request != "" && claimIn(f.request) == claimIn(sent)
}

// running reports whether Argo CD on the cluster is running the operation, so that it can be
// terminated.
func (f feedback) running(sent string) bool {
	return f.request == sent && f.owner != "" && f.phase == argocd.OperationRunning && f.startedAt != ""
}

// notApplied reports whether the agent could not apply the Application of the work's present
// generation.
func notApplied(work *manifestcache.Work) bool {
	return work.Extra.Refusal != nil && work.Extra.Refusal.Generation == work.Generation
}
