// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

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

// Scope says which clusters are registered where. Without one every accepted cluster
// is, in the first namespace.
type Scope interface {
	// Want says what is to become of the Secret of a cluster in a namespace.
	Want(namespace, cluster string) Want
	// Taken tells which Secret of another writer stands for a cluster; "" when none does.
	Taken(namespace, cluster, secret string)
}

// Want is what a [Scope] says of one Secret.
type Want struct {
	// Registered: it is to be there.
	Registered bool
	// Decided: every GitOpsCluster has been heard, so that those it does not name are
	// none that may still speak up.
	Decided bool
	// Holders are the GitOpsClusters that want it, "<namespace>/<name>", sorted; Released
	// are those that have let go of it. A Secret goes once all that it names have.
	Holders, Released []string
	// KeepShape: it is not known now whether the cluster has an agent.
	KeepShape bool
	// Agent is there when the cluster has an agent of argocd-agent.
	Agent *Agent
}

// Agent is what the Secret of a cluster with an agent has in addition.
type Agent struct {
	// Server is the resource proxy of the principal, and Config the client certificate for it.
	Server string
	Config []byte
}

// everything is the scope without a [Scope].
type everything struct{}

func (everything) Want(string, string) Want     { return Want{Registered: true, Decided: true} }
func (everything) Taken(string, string, string) {}

// Verbs of a [Step].
const (
	VerbCreate = "create"
	VerbPatch  = "patch"
	VerbDelete = "delete"
)

// Step is the write that one Secret needs; without a verb it needs none.
type Step struct {
	Verb, Why string
	secret    *corev1.Secret
	patch     []byte
}

// Plan returns the write that makes the Secret is of a cluster, as it is cached, what it
// should be. cluster is nil when there is no such ManagedCluster, is when there is no
// Secret or one of another writer, which nothing is done about.
func Plan(is *corev1.Secret, cluster *clusterv1.ManagedCluster, namespace, instanceLabel string, want Want) (Step, error) {
	if is != nil && !IsOwn(is) {
		return Step{}, nil
	}
	if !Registrable(cluster) {
		return removal(is, "the cluster is gone or not accepted"), nil
	}
	if !want.Registered {
		return released(is, want.Released)
	}
	if (want.KeepShape || !want.Decided) && want.Agent == nil && is != nil && is.Labels[argocd.AgentNameLabel] != "" {
		return Step{}, nil
	}
	if !want.Decided && is != nil { // those who have not been heard yet are not forgotten
		want.Holders = slices.Sorted(maps.Keys(union(want.Holders, without(Holders(is), want.Released))))
	}
	should := secretFor(cluster, namespace, instanceLabel, want)
	if is == nil {
		return Step{Verb: VerbCreate, Why: "the cluster is to be registered", secret: should}, nil
	}
	patch, err := repairPatch(is, should, cluster.Labels)
	if err != nil || patch == nil {
		return Step{}, err
	}
	return Step{Verb: VerbPatch, Why: "it is not what the cluster and its GitOpsClusters say", secret: is, patch: patch}, nil
}

// released returns the write for a Secret that nobody wants. One that names nobody is of
// the time before GitOpsClusters, or was given up by force: it stays until one of them
// takes it over, and lets go of it in order.
func released(is *corev1.Secret, by []string) (Step, error) {
	if is == nil || len(Holders(is)) == 0 {
		return Step{}, nil
	}
	left := without(Holders(is), by)
	if len(left) == 0 {
		return removal(is, "no GitOpsCluster selects the cluster any more"), nil
	}
	if len(left) == len(Holders(is)) {
		return Step{}, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": is.ResourceVersion, "annotations": map[string]any{contract.GitOpsClustersAnnotation: strings.Join(left, ",")},
	}})
	return Step{Verb: VerbPatch, Why: "a GitOpsCluster does not select the cluster any more", secret: is, patch: patch}, err
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

func removal(is *corev1.Secret, why string) Step {
	if is == nil {
		return Step{}
	}
	return Step{Verb: VerbDelete, Why: why, secret: is}
}

// Holders returns the GitOpsClusters that a Secret says it is wanted by.
func Holders(secret *corev1.Secret) []string {
	if list := secret.Annotations[contract.GitOpsClustersAnnotation]; list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// ClusterName returns the cluster that a Secret tells Argo CD of.
func ClusterName(secret *corev1.Secret) string { return string(secret.Data[dataName]) }

// SecretName returns the name of a cluster's Secret.
func SecretName(cluster string) string { return secretName(cluster) }
