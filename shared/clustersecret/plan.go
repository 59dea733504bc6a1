// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package clustersecret

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Desired is the desired state of one Secret.
type Desired struct {
	// Registered is true if the Secret must exist.
	Registered bool
	// Decided is true once every GitOpsCluster was reconciled. A GitOpsCluster that is not a holder
	// then does not need the Secret.
	Decided bool
	// Holders are the GitOpsClusters that need the Secret, "<namespace>/<name>", sorted. Released
	// are the GitOpsClusters that do not need it any more. The Secret is deleted once all of its
	// holders have released it.
	Holders, Released []string
	// KeepShape is true while it is unknown whether the cluster has an agent.
	KeepShape bool
	// KeepGitOpsClusters keeps the content that GitOpsClusters have set, because another process
	// writes it, now or later.
	KeepGitOpsClusters bool
	// Agent is set if the cluster has an argocd-agent.
	Agent *Agent
}

// Every registers every accepted cluster, regardless of GitOpsClusters. The content that
// GitOpsClusters have set in the Secret stays for their controller.
var Every = Desired{Registered: true, Decided: true, KeepGitOpsClusters: true}

// Agent is the additional content of the Secret of a cluster with an argocd-agent.
type Agent struct {
	// Server is the address of the principal's resource proxy. Config has the client certificate
	// for it.
	Server string
	Config []byte
}

// These are the verbs of a [Step].
const (
	VerbCreate = "create"
	VerbPatch  = "patch"
	VerbDelete = "delete"
)

// Step is the write that one Secret needs. An empty verb means that it needs none.
type Step struct {
	Verb, Why string
	// Secret is the Secret to create. For the other verbs it is the existing one.
	Secret *corev1.Secret
	patch  []byte
}

// Plan returns the write that brings the existing Secret of a cluster, from the cache, to the
// desired state. existing is nil if the Secret does not exist, and cluster is nil if the
// ManagedCluster does not exist. Plan leaves a Secret of another writer alone.
func Plan(existing *corev1.Secret, cluster *clusterv1.ManagedCluster, namespace, instanceLabel string, want Desired) (Step, error) {
	if existing != nil && !IsOwn(existing) {
		return Step{}, nil
	}
	if !Registrable(cluster) {
		return removal(existing, "the cluster is gone or not accepted"), nil
	}
	if !want.Registered {
		return released(existing, want.Released)
	}
	if existing == nil {
		return Step{Verb: VerbCreate, Why: "the cluster is to be registered", Secret: secretFor(cluster, namespace, instanceLabel, want)}, nil
	}
	if (want.KeepShape || !want.Decided) && want.Agent == nil && ofAnAgent(existing) {
		return Step{}, nil
	}
	if !want.Decided { // holders without a decision stay
		want.Holders = slices.Sorted(maps.Keys(union(want.Holders, without(Holders(existing), want.Released))))
	}
	desired := secretFor(cluster, namespace, instanceLabel, want)
	if want.KeepGitOpsClusters {
		keepGitOpsClusters(existing, desired)
	}
	patch, err := repairPatch(existing, desired, cluster.Labels)
	if err != nil || patch == nil {
		return Step{}, err
	}
	return Step{Verb: VerbPatch, Why: "it differs from the cluster and its GitOpsClusters", Secret: existing, patch: patch}, nil
}

// keepGitOpsClusters copies to want the content that GitOpsClusters have set in existing: its
// holders, and the data for an agent.
func keepGitOpsClusters(existing, want *corev1.Secret) {
	if holders, held := existing.Annotations[contract.GitOpsClustersAnnotation]; held {
		want.Annotations[contract.GitOpsClustersAnnotation] = holders
	}
	if !ofAnAgent(existing) {
		return
	}
	for _, key := range []string{contract.ConfigDigestAnnotation, argocd.SkipReconcileAnnotation} {
		if value, exists := existing.Annotations[key]; exists {
			want.Annotations[key] = value
		}
	}
	if name, exists := existing.Labels[argocd.AgentNameLabel]; exists {
		want.Labels[argocd.AgentNameLabel] = name
	}
	for _, key := range []string{dataServer, dataConfig} {
		if value, exists := existing.Data[key]; exists {
			want.Data[key] = value
		}
	}
}

// released returns the write for a Secret that no GitOpsCluster needs. A Secret without holders
// comes from before GitOpsClusters, or was released by force. It stays until a GitOpsCluster takes
// it over and releases it.
func released(existing *corev1.Secret, by []string) (Step, error) {
	if existing == nil || len(Holders(existing)) == 0 {
		return Step{}, nil
	}
	left := without(Holders(existing), by)
	if len(left) == 0 {
		return removal(existing, "no GitOpsCluster selects the cluster any more"), nil
	}
	if len(left) == len(Holders(existing)) {
		return Step{}, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": existing.ResourceVersion, "annotations": map[string]any{contract.GitOpsClustersAnnotation: strings.Join(left, ",")},
	}})
	return Step{Verb: VerbPatch, Why: "a GitOpsCluster does not select the cluster any more", Secret: existing, patch: patch}, err
}

func without(list, remove []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(remove, name) })
}

func union(lists ...[]string) map[string]bool {
	all := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			all[name] = true
		}
	}
	return all
}

func removal(existing *corev1.Secret, why string) Step {
	if existing == nil {
		return Step{}
	}
	return Step{Verb: VerbDelete, Why: why, Secret: existing}
}

// Holders returns the GitOpsClusters that a Secret lists as its holders.
func Holders(secret *corev1.Secret) []string {
	if list := secret.Annotations[contract.GitOpsClustersAnnotation]; list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// ClusterName returns the cluster that a Secret registers.
func ClusterName(secret *corev1.Secret) string { return string(secret.Data[dataName]) }
