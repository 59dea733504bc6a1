// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

const (
	reasonLooking          = "Looking"
	reasonDelivering       = "Delivering"
	reasonClustersConflict = "ClustersConflict"
)

// deployReasons are the reasons of an agent's state that belong to AgentsDeployed.
var deployReasons = []string{agent.ReasonNameNotAllowed, agent.ReasonAddOnNameTaken, agent.ReasonImageUnknown, agent.ReasonBadConfig, agent.ReasonBadManifests, agent.ReasonWorkNotApplied}

// addAgents adds the state of the agents to facts. before are their last conditions.
func addAgents(status agents.Status, known bool, f found, before []metav1.Condition, facts *intent.Facts) {
	for cluster, waitingFor := range status.Leaving {
		if facts.AgentsLeaving == nil {
			facts.AgentsLeaving = map[string]string{}
		}
		facts.AgentsLeaving[cluster] = waitingFor
	}
	if f.intent.Agent == nil || f.intent.Refusal != nil {
		return
	}
	switch {
	case !known && facts.NotEvaluated != "":
		for _, kind := range []string{v1beta1.ConditionPrincipalFound, v1beta1.ConditionCertificatesReady, v1beta1.ConditionAgentsDeployed, v1beta1.ConditionAgentsConnected} {
			facts.Agents = append(facts.Agents, condition(kind, metav1.ConditionUnknown, intent.ReasonNotEvaluated, facts.NotEvaluated))
		}
		facts.Agents = append(facts.Agents, ofApplicationsBefore(before)...)
		return
	case !known:
		facts.Agents = []metav1.Condition{condition(v1beta1.ConditionPrincipalFound, metav1.ConditionFalse, reasonLooking, "gitopscluster is looking for the principal; if this lasts, see its log")}
		return
	}
	p := status.Principal
	facts.Principal = &v1beta1.PrincipalStatus{Address: p.Address, Port: p.Port, Source: p.Source, Image: p.Image, Version: p.Version}
	facts.Agents = []metav1.Condition{
		conditionOf(v1beta1.ConditionPrincipalFound, status.PrincipalProblems, fmt.Sprintf("agents dial %s:%d, which is from %s", p.Address, p.Port, p.Source)+autonomous(f.intent.Agent.Mode)),
		conditionOf(v1beta1.ConditionCertificatesReady, status.CertificateProblems, "CA, certificates and token key of the principal are there, valid and trusted"),
	}
	deployed, connected := countAgents(f, status, facts)
	facts.Agents = append(facts.Agents, deployed, connected)
	if status.Applications == nil { // not read since the start
		facts.Agents = append(facts.Agents, ofApplicationsBefore(before)...)
	} else {
		facts.Agents = append(facts.Agents, ofApplications(*status.Applications, f.intent.ArgoNamespace)...)
	}
	for _, w := range status.Plan {
		facts.Plan = append(facts.Plan, v1beta1.PlannedWrite(w))
	}
}

// reportsAgents reports whether the status has conditions about agents for this generation.
func reportsAgents(o *v1beta1.GitOpsCluster) bool {
	c := meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionPrincipalFound)
	return c != nil && c.ObservedGeneration == o.Generation
}

// ofApplicationsKinds are the conditions of [ofApplications].
var ofApplicationsKinds = []string{v1beta1.ConditionOrphaned, v1beta1.ConditionProjectsOverwritten, v1beta1.ConditionApplicationsNotSynced}

// ofApplications returns the conditions that exist only during a problem. Ready does not wait for
// them.
func ofApplications(r applications.Report, namespace string) []metav1.Condition {
	var list []metav1.Condition
	if n := r.Orphaned; n.Count > 0 {
		list = append(list, condition(v1beta1.ConditionOrphaned, metav1.ConditionTrue, "NoAgent", fmt.Sprintf(
			"%d objects of the hub are of clusters without agent: their status does not change any more, and their finalizers stay: %s; delete Applications before the agent leaves, move them to another destination, or remove their finalizers and delete them; AppProjects once the principal has been restarted",
			n.Count, strings.Join(n.First, ", "))))
	}
	switch {
	case r.Shared.Count > 0:
		list = append(list, condition(v1beta1.ConditionProjectsOverwritten, metav1.ConditionTrue, "UsedByBoth", fmt.Sprintf(
			"agents write %d AppProjects that pulled Applications on the same clusters use as well over theirs, cut to their own destinations: %s; have pulled Applications use projects of their own, with label %s: \"true\"",
			r.Shared.Count, strings.Join(r.Shared.First, ", "), argocd.IgnoreSyncLabel)))
	case r.Overwritten.Count > 0:
		list = append(list, condition(v1beta1.ConditionProjectsOverwritten, metav1.ConditionTrue, "UsedByPullOnly", fmt.Sprintf(
			"agents write %d AppProjects that only pulled Applications use on the same clusters over theirs, cut to the agents' destinations: %s; set label %s: \"true\" on them, whereupon agents delete them once and ManifestWorks make them again",
			r.Overwritten.Count, strings.Join(r.Overwritten.First, ", "), argocd.IgnoreSyncLabel)))
	}
	if n := r.Unsynced; n.Count > 0 {
		list = append(list, condition(v1beta1.ConditionApplicationsNotSynced, metav1.ConditionTrue, "NeverCompared", fmt.Sprintf(
			"the Argo CD of their clusters has never compared %d Applications of other namespaces than %s: %s; name their namespaces in application.namespaces of ConfigMap argocd-cmd-params-cm on the clusters and in spec.agent.allowedNamespaces, and restart that Argo CD",
			n.Count, namespace, strings.Join(n.First, ", "))))
	}
	return list
}

// ofApplicationsBefore returns those conditions as they were before.
func ofApplicationsBefore(before []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(before), func(c metav1.Condition) bool { return !slices.Contains(ofApplicationsKinds, c.Type) })
}

// notEvaluated returns the message about an Argo CD that could not be read for a while, with the remedy.
func notEvaluated(namespace string, err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("gitopscluster cannot evaluate the agents of the Argo CD in namespace %s, so they stay as they are, and its certificates may not be renewed; restore the right or object that this error names: %v", namespace, err)
}

// recordAbandoned records an Event about the certificates that a cluster may have kept
// which was abandoned: the principal takes them until they expire.
func recordAbandoned(recorder events.EventRecorder, owner types.NamespacedName, cluster string, kept []pki.Issued) {
	var until []string
	for _, c := range kept {
		if c.Expires.After(time.Now()) {
			until = append(until, fmt.Sprintf("%s until %s", c.SHA256, c.Expires.Format(time.RFC3339)))
		}
	}
	if len(until) == 0 {
		return
	}
	o := &corev1.ObjectReference{APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.Kind, Namespace: owner.Namespace, Name: owner.Name}
	recorder.Eventf(o, nil, corev1.EventTypeWarning, "AgentAbandoned", "Leave",
		"cluster %s was let go of without proof that its key is gone, and the principal takes its client certificates (SHA-256 %s); to cut it off before, ask for a new CA with annotation %s",
		cluster, strings.Join(until, ", "), intent.RotateCAAnnotation)
}

// autonomous describes the hub's part for autonomous agents.
func autonomous(mode string) string {
	if mode != agent.ModeAutonomous {
		return ""
	}
	return "; the agents are autonomous: Applications are written on the clusters, and their copies on the hub, in namespaces called like the clusters, are read-only but for sync and terminate"
}

// countAgents counts agents, and returns the conditions about them.
func countAgents(f found, status agents.Status, facts *intent.Facts) (deployed, connected metav1.Condition) {
	deployed = condition(v1beta1.ConditionAgentsDeployed, metav1.ConditionTrue, intent.ReasonAsExpected, "every cluster runs the agent that is wanted")
	connected = condition(v1beta1.ConditionAgentsConnected, metav1.ConditionTrue, intent.ReasonAsExpected, "the principal has let every agent in, as their clusters last reported; a cluster that hangs is noticed when Open Cluster Management reports it as unavailable")
	worse := func(c *metav1.Condition, cluster, reason, message string) {
		if c.Status == metav1.ConditionTrue {
			*c = condition(c.Type, metav1.ConditionFalse, reason, "cluster "+cluster+": "+message)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(f.selected)) {
		if owner, taken := status.Conflicts[cluster]; taken {
			worse(&deployed, cluster, reasonClustersConflict, fmt.Sprintf("its agent belongs to GitOpsCluster %s; take the cluster out of one of the two Placements", owner))
			continue
		}
		s := status.Agents[cluster]
		if s.Deployed {
			facts.Clusters.Deployed++
		}
		if s.Connected {
			facts.Clusters.Connected++
			continue
		}
		waitingFor := s.WaitingFor
		if waitingFor == "" {
			waitingFor = "ManifestWork"
		}
		facts.Waits = append(facts.Waits, v1beta1.ClusterWait{Cluster: cluster, For: waitingFor})
		message := s.Message
		if message == "" {
			message = "waiting for " + waitingFor + "; if this lasts, look at ManifestWork " + cluster + "/" + agent.WorkName
		}
		switch {
		case slices.Contains(deployReasons, s.Reason):
			worse(&deployed, cluster, s.Reason, message)
		case s.Reason == "" || !s.Deployed && s.Reason == agent.ReasonNotConnected:
			worse(&deployed, cluster, reasonDelivering, message)
		}
		reason := s.Reason
		if reason == "" || slices.Contains(deployReasons, reason) {
			reason = agent.ReasonNotConnected
		}
		worse(&connected, cluster, reason, message)
	}
	return deployed, connected
}

// conditionOf is a condition that is True unless a problem is more than a warning.
func conditionOf(kind string, problems []principal.Problem, fine string) metav1.Condition {
	messages := []string{fine}
	for _, p := range problems {
		if !p.Warning {
			return condition(kind, metav1.ConditionFalse, p.Reason, p.Message)
		}
		messages = append(messages, p.Reason+": "+p.Message)
	}
	return condition(kind, metav1.ConditionTrue, intent.ReasonAsExpected, strings.Join(messages, ". "))
}

func condition(kind string, is metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message}
}
