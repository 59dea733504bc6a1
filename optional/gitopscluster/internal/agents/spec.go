// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Spec is the desired state of the agents of one GitOpsCluster.
type Spec struct {
	Owner   types.NamespacedName
	Created time.Time
	// ArgoNamespace is the namespace of the hub's Argo CD.
	ArgoNamespace string
	// Agent is nil when clusters are registered only.
	Agent *Agent
	// Clusters are those that it selects.
	Clusters []string
	// Held are the other clusters that it holds. If it already has an agent there, the agent stays. No
	// other agent is installed. The value is true if the cluster's Secret has the shape for an agent
	// of this GitOpsCluster.
	Held map[string]bool
	// RotateCA requests a new CA (see certificates.Facts).
	RotateCA string
	// AtLeast is the least generation of the clusters' certificates.
	AtLeast int
	// Abandon releases unreachable clusters without proof.
	Abandon bool
	// Deleting is true while the GitOpsCluster is being deleted.
	Deleting bool
	// DryRun has nothing written, and everything that would be in the answer.
	DryRun bool
}

// all returns Clusters and Held.
func (s Spec) all() []string { return slices.AppendSeq(slices.Clone(s.Clusters), maps.Keys(s.Held)) }

// has reports whether a cluster is one of Clusters or Held.
func (s Spec) has(cluster string) bool {
	_, held := s.Held[cluster]
	return held || slices.Contains(s.Clusters, cluster)
}

// Agent is the desired agent on each cluster.
type Agent struct {
	Mode string
	// Address and Port are the principal's, as in the spec. If they are empty and 0, gitopscluster
	// has to find them.
	Address string
	Port    int32
	// Field names the field of the address, for messages.
	Field string
	// Namespace is the namespace of Argo CD on the clusters.
	Namespace string
	Manifests [][]byte
	// Settings are the settings of the agent. Principal has the objects that the spec names and
	// does not search for.
	Settings  v1beta1.AgentSettings
	Principal v1beta1.PrincipalSpec
	// KeepAlive is the interval of the agents' pings. 0 means no pings.
	KeepAlive time.Duration
	// RestartPrincipal may be done when its certificates change.
	RestartPrincipal bool
}

// Status is the result for one Spec.
type Status struct {
	Principal principal.Found
	// PrincipalProblems and CertificateProblems belong to one condition each.
	PrincipalProblems, CertificateProblems []principal.Problem
	// Agents is the state of the agent of each cluster of this GitOpsCluster.
	Agents map[string]agent.State
	// Conflicts are the clusters with an agent of another GitOpsCluster.
	Conflicts map[string]types.NamespacedName
	// Leaving has the clusters with an agent that is being removed, and a message about the wait.
	Leaving map[string]string
	// Applications has the problems of the hub's Applications. It is nil while they cannot be read.
	Applications *applications.Report
	// Plan lists the writes that a dry run would make.
	Plan []agent.Write
}

// older compares specs: a GitOpsCluster in the namespace of its Argo CD comes first, then the older
// one. The first one owns a cluster's agent.
func older(a, b Spec) int {
	return cmp.Or(elsewhere(a)-elsewhere(b), a.Created.Compare(b.Created), cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.Name, b.Owner.Name))
}

// elsewhere returns 1 for a GitOpsCluster in another namespace than its Argo CD's, or 0.
func elsewhere(s Spec) int {
	if s.Owner.Namespace == s.ArgoNamespace {
		return 0
	}
	return 1
}

// planned converts the writes of a dry run to writes of package agent.
func planned(writes []certificates.Write) []agent.Write {
	all := make([]agent.Write, 0, len(writes))
	for _, w := range writes {
		all = append(all, agent.Write(w))
	}
	return all
}

// Options are the options of [Setup].
type Options struct {
	// Namespaces are the namespaces of the hub's Argo CDs.
	Namespaces []string
	// KeyNamespace is the namespace of the keys of CAs (see certificates.Options).
	KeyNamespace string
	// CALife and Lifetime are the lifetimes of CAs and of certificates. 0 means the default.
	CALife, Lifetime time.Duration
	// Limit is how many clusters get a new certificate at a time.
	Limit limit.Limit
	// Now is the clock for signed certificates, and for how long a plan has failed. It is nil for the
	// system's clock.
	Now func() time.Time
	// Grace is how long an agent stays if its GitOpsCluster does not exist.
	Grace time.Duration
	// Secret returns the holders of a cluster Secret of ours, and the digest of the config in it.
	Secret func(ctx context.Context, namespace, cluster string) (holders []string, digest string, err error)
	// Registered returns the clusters that another writer has registered with Argo CD, and whether
	// one of them has an agent.
	Registered func(ctx context.Context, namespace string) (foreign map[string]bool, agents bool, err error)
	// Abandoned is called when a cluster was abandoned, with the certificates that it may still have.
	Abandoned func(owner types.NamespacedName, cluster string, kept []pki.Issued)
}
