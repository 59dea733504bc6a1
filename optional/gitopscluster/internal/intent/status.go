// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Reasons of conditions that are about the clusters' registration.
const (
	ReasonAsExpected       = "AsExpected"
	ReasonSomeFieldsUnused = "SomeFieldsUnused"
	ReasonRegistering      = "Registering"
	ReasonSecretTaken      = "SecretTaken"
	ReasonWaiting          = "Waiting"
	ReasonHeldBack         = "HeldBack"
	ReasonAgentLeaving     = "AgentLeaving"
	ReasonNotEvaluated     = "NotEvaluated"
	ReasonDryRun           = "DryRun"
	ReasonDeleting         = "Deleting"

	// MaxListed is how many clusters a list in the status has, MaxPlanned how many lines a plan.
	MaxListed  = 20
	MaxPlanned = 200
	// maxNamed is how many clusters a message names.
	maxNamed = 5
)

// Facts are the input of a status.
type Facts struct {
	Intent     Intent
	Generation int64
	Deleting   bool
	// Placement is why the Placement's decisions are unknown, or nil.
	Placement *Problem
	// Clusters are the counts. Missing are the clusters without a Secret yet. Taken maps a cluster
	// to the Secret of another writer.
	Clusters v1beta1.ClusterCounts
	Missing  []string
	Taken    map[string]string
	// Decision is about the clusters that are not selected any more.
	Decision Decision
	// Unconfirmed are the clusters with pulled Applications that hold up the deletion.
	Unconfirmed []string
	// Leftover is another cause that holds up the deletion, with its remedy.
	Leftover string
	// NotEvaluated is why agents cannot be evaluated, with the remedy, or "". No cluster leaves
	// meanwhile.
	NotEvaluated string
	// Failed is the lasting error of gitopscluster about this GitOpsCluster, with the remedy, or "".
	Failed string
	// AgentsLeaving are the clusters with an agent that is being removed, and a message about the
	// wait.
	AgentsLeaving map[string]string
	// Plan lists the writes of a dry run.
	Plan []v1beta1.PlannedWrite
	// Agents are the conditions that exist only with an agent, in the order of Ready. Waits are the
	// clusters that they wait for.
	Agents    []metav1.Condition
	Waits     []v1beta1.ClusterWait
	Principal *v1beta1.PrincipalStatus
}

// Status returns the status of a GitOpsCluster. before is its last status. A time changes only
// together with its field.
func (f Facts) Status(before *v1beta1.GitOpsClusterStatus, now time.Time) v1beta1.GitOpsClusterStatus {
	at := metav1.NewTime(now.Truncate(time.Second))
	s := v1beta1.GitOpsClusterStatus{ObservedGeneration: f.Generation, Mode: ModeRegistration, Principal: f.Principal, LastUpdateTime: before.LastUpdateTime}
	if f.Intent.Agent != nil {
		s.Mode = f.Intent.Agent.Mode
	}
	counts := f.Clusters
	s.Clusters = &counts
	s.Waiting = f.waiting(before.Waiting, at)
	s.Leaving = f.leaving(before.Leaving, at)
	if f.Intent.DryRun {
		s.Plan, s.Planned = f.Plan[:min(len(f.Plan), MaxPlanned)], len(f.Plan)
	}
	for _, c := range f.conditions() {
		c.ObservedGeneration, c.LastTransitionTime = f.Generation, at
		c.Message = contract.Message(c.Message, &contract.Rejected{})
		if old := meta.FindStatusCondition(before.Conditions, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		s.Conditions = append(s.Conditions, c)
	}
	ready := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionReady)
	s.Message, _, _ = strings.Cut(ready.Message, "\n")
	s.Phase = v1beta1.PhaseFailed
	if ready.Status == metav1.ConditionTrue {
		s.Phase = v1beta1.PhaseSuccessful
	}
	return s
}

func (f Facts) conditions() []metav1.Condition {
	list := []metav1.Condition{f.accepted()}
	if f.Intent.Refusal == nil {
		list = append(list, f.placement(), f.registered())
		list = append(list, f.Agents...)
		if len(f.Decision.Leaving) > 0 || len(f.AgentsLeaving) > 0 {
			list = append(list, f.departing())
		}
	}
	return append(list, f.ready(list))
}

func condition(kind string, ok bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if ok {
		c.Status = metav1.ConditionTrue
	}
	return c
}

func (f Facts) accepted() metav1.Condition {
	switch {
	case f.Intent.Refusal != nil:
		return condition(v1beta1.ConditionSpecAccepted, false, f.Intent.Refusal.Reason, f.Intent.Refusal.Message)
	case len(f.Intent.Unused) > 0:
		return condition(v1beta1.ConditionSpecAccepted, true, ReasonSomeFieldsUnused, "these fields have no effect. "+strings.Join(f.Intent.Unused, ". "))
	}
	return condition(v1beta1.ConditionSpecAccepted, true, ReasonAsExpected, "every field that is set takes effect")
}

func (f Facts) placement() metav1.Condition {
	if p := f.Placement; p != nil {
		return condition(v1beta1.ConditionPlacementResolved, false, p.Reason, p.Message+"; until then no cluster is registered or unregistered")
	}
	return condition(v1beta1.ConditionPlacementResolved, true, ReasonAsExpected, fmt.Sprintf("Placement %s selects %s", f.Intent.Placement, clusters(f.Clusters.Selected)))
}

func (f Facts) registered() metav1.Condition {
	const kind = v1beta1.ConditionClustersRegistered
	if len(f.Taken) > 0 {
		names := sortedKeys(f.Taken)
		return condition(kind, false, ReasonSecretTaken, fmt.Sprintf("Secrets of another writer in namespace %s represent %s (Secret %s: cluster %s); delete that Secret if nothing else uses it, or take the cluster out of the Placement; generators delete the Applications of a cluster without Secret, unless applicationsSync is create-update",
			f.Intent.ArgoNamespace, named(names), f.Taken[names[0]], names[0]))
	}
	if len(f.Missing) > 0 {
		return condition(kind, false, ReasonRegistering, fmt.Sprintf("%d of %s have a Secret in namespace %s; still without one: %s; if this lasts, see gitopscluster's log",
			f.Clusters.Registered, clusters(f.Clusters.Selected), f.Intent.ArgoNamespace, named(f.Missing)))
	}
	return condition(kind, true, ReasonAsExpected, fmt.Sprintf("%s registered by a Secret in namespace %s", clusters(f.Clusters.Registered), f.Intent.ArgoNamespace))
}

// WithoutAgents is the message of an agent that is left because gitopscluster does not remove agents.
const WithoutAgents = "gitopscluster runs without --agents, and so removes no argocd-agent: start it with --agents"

func (f Facts) departing() metav1.Condition {
	const kind = v1beta1.ConditionLeaving
	v := f.Decision
	if v.HeldBack {
		return condition(kind, true, ReasonHeldBack, fmt.Sprintf("%s are no longer selected, but only %d may leave at a time, so none does: %s. Correct the Placement, or set annotation %s to %d; generators of ApplicationSets then delete the Applications of these clusters",
			clusters(len(v.Leaving)), v.Allowed, named(v.Leaving), ConfirmRemovalAnnotation, len(v.Leaving)))
	}
	if f.NotEvaluated != "" {
		return condition(kind, true, ReasonNotEvaluated, fmt.Sprintf("%s are no longer selected, and stay: %s: %s", clusters(len(v.Leaving)), named(v.Leaving), f.NotEvaluated))
	}
	if len(f.AgentsLeaving) > 0 {
		names := sortedKeys(f.AgentsLeaving)
		message := fmt.Sprintf("the agent is being taken off %s; %s", named(names), cmp.Or(f.AgentsLeaving[names[0]], "managed cluster "+names[0]+" has not been looked at yet"))
		if !f.Intent.Abandon && f.AgentsLeaving[names[0]] != WithoutAgents {
			message += fmt.Sprintf(". If that cluster will not come back, set annotation %s to \"abandon\" on this GitOpsCluster", contract.DeletionPolicyAnnotation)
		}
		return condition(kind, true, ReasonAgentLeaving, message)
	}
	return condition(kind, true, ReasonWaiting, fmt.Sprintf("%s are no longer selected and leave after --binding-grace: %s", clusters(len(v.Leaving)), named(v.Leaving)))
}

func (f Facts) ready(conditions []metav1.Condition) metav1.Condition {
	const kind = v1beta1.ConditionReady
	if f.Deleting || len(f.Unconfirmed) > 0 {
		return f.deleting()
	}
	if f.Failed != "" {
		return condition(kind, false, ReasonNotEvaluated, f.Failed)
	}
	for _, c := range conditions {
		if c.Type == v1beta1.ConditionLeaving {
			if c.Reason != ReasonWaiting {
				return condition(kind, false, c.Reason, c.Message)
			}
			continue
		}
		if c.Status != metav1.ConditionTrue && !f.Intent.DryRun {
			return condition(kind, false, c.Reason, c.Message)
		}
		if c.Status != metav1.ConditionTrue && (c.Type == v1beta1.ConditionSpecAccepted || c.Type == v1beta1.ConditionPlacementResolved) {
			return condition(kind, false, c.Reason, c.Message)
		}
	}
	if f.Intent.DryRun {
		return condition(kind, false, ReasonDryRun, fmt.Sprintf("dry run: gitopscluster writes only this status; status.plan lists the %d writes that it would make; remove annotation %s to have them made", len(f.Plan), DryRunAnnotation))
	}
	return condition(kind, true, ReasonAsExpected, fmt.Sprintf("%s registered with the Argo CD of namespace %s", clusters(f.Clusters.Registered), f.Intent.ArgoNamespace))
}

// deleting describes the wait of the deletion of a GitOpsCluster.
func (f Facts) deleting() metav1.Condition {
	const kind = v1beta1.ConditionReady
	if n := len(f.Unconfirmed); n > 0 {
		return condition(kind, false, ReasonHeldBack, fmt.Sprintf("the GitOpsCluster is not deleted yet: its Secrets of %s with pulled Applications would go: %s. Generators of ApplicationSets then delete these Applications, and their workloads with them. To delete it all the same, set annotation %s to %d",
			clusters(n), named(f.Unconfirmed), ConfirmRemovalAnnotation, n))
	}
	if f.Intent.Refusal != nil && f.Intent.Refusal.Reason == ReasonBadAnnotation {
		return condition(kind, false, ReasonBadAnnotation, f.Intent.Refusal.Message+"; until then nothing of this GitOpsCluster is deleted")
	}
	if why := cmp.Or(f.Leftover, f.Failed, f.NotEvaluated); why != "" {
		return condition(kind, false, ReasonDeleting, "the GitOpsCluster is not deleted yet: "+why)
	}
	return condition(kind, false, ReasonDeleting, fmt.Sprintf("the GitOpsCluster is deleted once its clusters have left; %d are still there", f.Clusters.Leaving))
}

// waiting lists the clusters that are not in the desired state, sorted, with the times of before.
func (f Facts) waiting(before []v1beta1.ClusterWait, now metav1.Time) []v1beta1.ClusterWait {
	list := slices.Clone(f.Waits)
	for _, cluster := range f.Missing {
		list = append(list, v1beta1.ClusterWait{Cluster: cluster, For: "Secret"})
	}
	for cluster := range f.Taken {
		list = append(list, v1beta1.ClusterWait{Cluster: cluster, For: ReasonSecretTaken})
	}
	return dated(list, before, now)
}

func (f Facts) leaving(before []v1beta1.ClusterWait, now metav1.Time) []v1beta1.ClusterWait {
	list := make([]v1beta1.ClusterWait, 0, len(f.Decision.Leaving))
	why := "Grace"
	switch {
	case f.Decision.HeldBack:
		why = ReasonHeldBack
	case f.NotEvaluated != "":
		why = ReasonNotEvaluated
	}
	for _, cluster := range f.Decision.Leaving {
		if f.AgentsLeaving[cluster] == "" {
			list = append(list, v1beta1.ClusterWait{Cluster: cluster, For: why})
		}
	}
	for cluster, waitingFor := range f.AgentsLeaving {
		list = append(list, v1beta1.ClusterWait{Cluster: cluster, For: cmp.Or(waitingFor, "Agent")})
	}
	return dated(list, before, now)
}

func dated(list, before []v1beta1.ClusterWait, now metav1.Time) []v1beta1.ClusterWait {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b v1beta1.ClusterWait) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.For, b.For))
	})
	list = list[:min(len(list), MaxListed)]
	for i := range list {
		list[i].Since = &now
		for _, old := range before {
			if old.Cluster == list[i].Cluster && old.For == list[i].For && old.Since != nil {
				list[i].Since = old.Since
			}
		}
	}
	return list
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// named returns the first of some clusters, in their order.
func named(list []string) string {
	if len(list) <= maxNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNamed], ", "), len(list)-maxNamed)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
