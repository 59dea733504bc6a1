// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
)

// worst orders the reasons: the condition has the first of them that a cluster has.
var worst = []string{ReasonRolloutStopped, ReasonAlreadyThere, ReasonClustersConflict, ReasonDelivering, ReasonLooking, ReasonUnavailable}

// summarize sets condition, counts and what is waited for.
func (result *Result) summarize(targets map[string]*target, failed []string, now time.Time) {
	result.Status = &v1beta1.ArgoCDStatus{Version: argocd.Version()}
	result.Condition = &metav1.Condition{Type: v1beta1.ConditionArgoCDDeployed, Status: metav1.ConditionTrue, Reason: intent.ReasonAsExpected, Message: "Argo CD runs on every cluster"}
	rank := len(worst)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		t := targets[name]
		reason, message := t.explain()
		if reason == "" {
			result.Status.Ready++
			continue
		}
		if t.state.Phase == argocd.PhaseProgressing && !t.state.Deadline.IsZero() {
			result.lookAt(t.state.Deadline.Sub(now))
		}
		result.Waits = append(result.Waits, v1beta1.ClusterWait{Cluster: name, For: "ArgoCD" + reason})
		if at := slices.Index(worst, reason); at < rank {
			rank = at
			result.Condition.Status, result.Condition.Reason, result.Condition.Message = metav1.ConditionFalse, reason, "cluster "+name+": "+message
		}
	}
	if n := len(targets) - result.Status.Ready - len(failed); len(failed) > 0 && n > 0 {
		result.Condition.Message += fmt.Sprintf(". Until then no other cluster changes; %d wait", n)
	}
}

// explain returns why a cluster is not ready; "" if it is.
func (t *target) explain() (reason, message string) {
	switch {
	case t.owner != "":
		return ReasonClustersConflict, "its Argo CD is delivered by GitOpsCluster " + t.owner + "; take the cluster out of one of the two Placements, or spec.argoCD out of one of the two"
	case t.state.Phase == argocd.PhaseReady:
		return "", ""
	case !t.available:
		return ReasonUnavailable, "the managed cluster is not available; its turn comes when it is back"
	case t.state.Phase == argocd.PhaseFailed:
		return ReasonRolloutStopped, t.state.Message
	case t.state.Phase == argocd.PhaseFound:
		return ReasonAlreadyThere, t.state.Message
	case t.state.Phase == argocd.PhaseAbsent || t.state.Phase == argocd.PhaseLooking:
		return ReasonLooking, t.state.Message
	}
	return ReasonDelivering, t.state.Message
}

func (result *Result) lookAt(after time.Duration) {
	after = max(after, time.Second)
	if result.RequeueAfter == 0 || after < result.RequeueAfter {
		result.RequeueAfter = after
	}
}

func (result *Result) plan(verb string, work *workv1.ManifestWork, why string) {
	result.Plan = append(result.Plan, v1beta1.PlannedWrite{Verb: verb, Kind: "ManifestWork", Namespace: work.Namespace, Name: work.Name, Why: why})
}
