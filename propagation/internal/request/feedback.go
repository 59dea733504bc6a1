// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// feedback is what the managed cluster says about a request, all from one state of
// its Application.
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

// notApplied: the agent tried the work as it is now and could not apply the Application.
func notApplied(work *manifestcache.Work) bool {
	return work.Extra.Refusal != nil && work.Extra.Refusal.Generation == work.Generation
}
