// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Agents brings argocd-agent to clusters; agents.Hub is one.
type Agents interface {
	Start(ctx context.Context, owners []types.NamespacedName)
	Ask(ctx context.Context, ask agents.Ask)
	Gone(ctx context.Context, owner types.NamespacedName)
	Answer(owner types.NamespacedName) (agents.Answer, bool)
	Has(owner types.NamespacedName, namespace, cluster string) bool
	Left(owner types.NamespacedName) bool
	Shape(namespace, cluster string) (server string, config []byte, err error)
	Planned(namespace, cluster string) (server string, config []byte, err error)
}

// none is for registration only.
type none struct{}

func (none) Start(context.Context, []types.NamespacedName)     {}
func (none) Ask(context.Context, agents.Ask)                   {}
func (none) Gone(context.Context, types.NamespacedName)        {}
func (none) Answer(types.NamespacedName) (agents.Answer, bool) { return agents.Answer{}, true }
func (none) Has(types.NamespacedName, string, string) bool     { return false }
func (none) Left(types.NamespacedName) bool                    { return true }
func (none) Shape(string, string) (string, []byte, error)      { return "", nil, nil }
func (none) Planned(string, string) (string, []byte, error)    { return "", nil, nil }

const (
	reasonLooking          = "Looking"
	reasonDelivering       = "Delivering"
	reasonClustersConflict = "ClustersConflict"

	// rotateCAAnnotation asks for a new CA whenever its value changes.
	rotateCAAnnotation = contract.KeyPrefix + "rotate-ca"
)

// deployReasons are those of an agent's state that belong to AgentsDeployed.
var deployReasons = []string{agent.ReasonAddOnNameTaken, agent.ReasonImageUnknown, agent.ReasonBadManifests, agent.ReasonWorkNotApplied}

// askOf says what a GitOpsCluster that holds clusters wants of their agents.
func askOf(o *v1beta1.GitOpsCluster, in intent.Intent, holds map[string]bool) agents.Ask {
	a := agents.Ask{
		Owner: key(o), Created: o.CreationTimestamp.Time, ArgoNamespace: in.ArgoNamespace, Clusters: slices.Sorted(maps.Keys(holds)),
		RotateCA: contract.Token(o.Annotations[rotateCAAnnotation], &contract.Rejected{}), Abandon: in.Abandon, AtLeast: in.Generation,
		DryRun: in.DryRun || in.Refusal != nil, // what cannot be followed leaves everything as it is
	}
	if w := in.Agent; w != nil && in.Refusal == nil && o.DeletionTimestamp.IsZero() {
		field := "spec.gitopsAddon.argoCDAgent.serverAddress"
		if o.Spec.ArgoCDAgentAddon != nil {
			field = "spec.argoCDAgentAddon.principalServerAddress"
		}
		a.Agent = &agents.Agent{
			Mode: w.Mode, Address: w.Address, Port: w.Port, Field: field, Namespace: w.Namespace, Manifests: w.Manifests,
			LiveView: w.LiveView, RestartPrincipal: w.RestartPrincipal,
		}
	}
	return a
}

// keep adds to holds the clusters whose agent has not left yet: their Secret goes last. A
// cluster of which that is not known is kept as well. One that was let go of is not taken
// back: its agent had left, and what says otherwise since, or that its Secret is there, is
// from before.
func (r *Reconciler) keep(owner types.NamespacedName, f found, holds map[string]bool) map[string]bool {
	_, known := r.agents.Answer(owner)
	kept := maps.Clone(holds)
	for cluster := range f.held {
		if r.roster.letGo(owner, f.intent.ArgoNamespace, cluster) {
			continue
		}
		if !known || r.agents.Has(owner, f.intent.ArgoNamespace, cluster) {
			kept[cluster] = true
		}
	}
	return kept
}

// shape sets what the Secret of a cluster with an agent has.
func shape(of func(namespace, cluster string) (string, []byte, error), want *clustersecret.Want, namespace, cluster string) {
	server, config, err := of(namespace, cluster)
	switch {
	case err != nil: // agents.ErrNotKnown; any other one fails a survey of package agents as well, which tells
		want.KeepShape = true
	case server != "":
		want.Agent = &clustersecret.Agent{Server: server, Config: config}
	}
}

// addAgents adds to facts what is known of the agents.
func (r *Reconciler) addAgents(owner types.NamespacedName, f found, facts *intent.Facts) {
	answer, known := r.agents.Answer(owner)
	for cluster, waitingFor := range answer.Leaving {
		if facts.AgentsLeaving == nil {
			facts.AgentsLeaving = map[string]string{}
		}
		facts.AgentsLeaving[cluster] = waitingFor
	}
	if f.intent.Agent == nil || f.intent.Refusal != nil {
		return
	}
	if !known {
		facts.Agents = []metav1.Condition{condition(v1beta1.ConditionPrincipalFound, metav1.ConditionFalse, reasonLooking, "gitopscluster is looking for the principal; if this lasts, see its log")}
		return
	}
	p := answer.Principal
	facts.Principal = &v1beta1.PrincipalStatus{Address: p.Address, Port: p.Port, Source: p.Source, Image: p.Image, Version: p.Version}
	facts.Agents = []metav1.Condition{
		judged(v1beta1.ConditionPrincipalFound, answer.PrincipalProblems, fmt.Sprintf("agents dial %s:%d, which is from %s", p.Address, p.Port, p.Source)+autonomous(f.intent.Agent.Mode)),
		judged(v1beta1.ConditionCertificatesReady, answer.CertificateProblems, "CA, certificates and token key of the principal are there, valid and trusted"),
	}
	deployed, connected := countAgents(f, answer, facts)
	facts.Agents = append(facts.Agents, deployed, connected)
	for _, w := range answer.Plan {
		facts.Plan = append(facts.Plan, v1beta1.PlannedWrite(w))
	}
}

// abandoned says which certificates a cluster may have kept that was let go of without
// proof: the principal takes them until they expire.
func (r *Reconciler) abandoned(owner types.NamespacedName, cluster string, kept []pki.Issued) {
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
	r.recorder.Eventf(o, nil, corev1.EventTypeWarning, "AgentAbandoned", "Leave",
		"cluster %s was let go of without proof that its key is gone, and the principal takes its client certificates (SHA-256 %s); to cut it off before, ask for a new CA with annotation %s",
		cluster, strings.Join(until, ", "), rotateCAAnnotation)
}

// autonomous says what the hub is to autonomous agents.
func autonomous(mode string) string {
	if mode != agent.ModeAutonomous {
		return ""
	}
	return "; the agents are autonomous: Applications are written on the clusters, and their copies on the hub, in namespaces called like the clusters, are read-only but for sync and terminate"
}

// countAgents counts agents, and returns the conditions about them.
func countAgents(f found, answer agents.Answer, facts *intent.Facts) (deployed, connected metav1.Condition) {
	deployed = condition(v1beta1.ConditionAgentsDeployed, metav1.ConditionTrue, intent.ReasonAsExpected, "every cluster runs the agent that is wanted")
	connected = condition(v1beta1.ConditionAgentsConnected, metav1.ConditionTrue, intent.ReasonAsExpected, "the principal has let every agent in")
	worse := func(c *metav1.Condition, cluster, reason, message string) {
		if c.Status == metav1.ConditionTrue {
			*c = condition(c.Type, metav1.ConditionFalse, reason, "cluster "+cluster+": "+message)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(f.selected)) {
		if owner, taken := answer.Conflicts[cluster]; taken {
			worse(&deployed, cluster, reasonClustersConflict, fmt.Sprintf("its agent belongs to GitOpsCluster %s, which is older; take the cluster out of one of the two Placements", owner))
			continue
		}
		s := answer.Agents[cluster]
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

// judged is a condition that is True unless a problem is more than a warning.
func judged(kind string, problems []principal.Problem, fine string) metav1.Condition {
	messages := []string{fine}
	for _, p := range problems {
		if !p.Warning {
			return condition(kind, metav1.ConditionFalse, p.Reason, p.Message)
		}
		messages = append(messages, p.Reason+": "+p.Message)
	}
	return condition(kind, metav1.ConditionTrue, intent.ReasonAsExpected, strings.Join(messages, ". "))
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}
