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

// Want is what is to become of one Secret.
type Want struct {
	// Registered: it is to be there.
	Registered bool
	// Decided: every GitOpsCluster has been reconciled, so that one which is not named
	// does not want it.
	Decided bool
	// Holders are the GitOpsClusters that want it, "<namespace>/<name>", sorted; Released
	// are those that have let go of it. A Secret goes once all that it names have.
	Holders, Released []string
	// KeepShape: it is not known now whether the cluster has an agent.
	KeepShape bool
	// KeepGitOpsClusters: what GitOpsClusters have put there stays as it is, since another
	// process works on them, or will again.
	KeepGitOpsClusters bool
	// Agent is there when the cluster has an agent of argocd-agent.
	Agent *Agent
}

// Every is what is wanted where every accepted cluster is registered, whatever
// GitOpsClusters there are: what they have put into its Secret waits for their controller.
var Every = Want{Registered: true, Decided: true, KeepGitOpsClusters: true}

// Agent is what the Secret of a cluster with an agent has in addition.
type Agent struct {
	// Server is the resource proxy of the principal, and Config the client certificate for it.
	Server string
	Config []byte
}

// Verbs of a [Step].
const (
	VerbCreate = "create"
	VerbPatch  = "patch"
	VerbDelete = "delete"
)

// Step is the write that one Secret needs; without a verb it needs none.
type Step struct {
	Verb, Why string
	// Secret is what is to be created; for the other verbs the one that was seen.
	Secret *corev1.Secret
	patch  []byte
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
	if is == nil {
		return Step{Verb: VerbCreate, Why: "the cluster is to be registered", Secret: secretFor(cluster, namespace, instanceLabel, want)}, nil
	}
	if (want.KeepShape || !want.Decided) && want.Agent == nil && ofAnAgent(is) {
		return Step{}, nil
	}
	if !want.Decided { // holders that have not decided yet stay
		want.Holders = slices.Sorted(maps.Keys(union(want.Holders, without(Holders(is), want.Released))))
	}
	should := secretFor(cluster, namespace, instanceLabel, want)
	if want.KeepGitOpsClusters {
		keepGitOpsClusters(is, should)
	}
	patch, err := repairPatch(is, should, cluster.Labels)
	if err != nil || patch == nil {
		return Step{}, err
	}
	return Step{Verb: VerbPatch, Why: "it is not what the cluster and its GitOpsClusters say", Secret: is, patch: patch}, nil
}

// keepGitOpsClusters puts into want what GitOpsClusters have put into is: who holds it,
// and the shape that the Secret of an agent has.
func keepGitOpsClusters(is, want *corev1.Secret) {
	if holders, held := is.Annotations[contract.GitOpsClustersAnnotation]; held {
		want.Annotations[contract.GitOpsClustersAnnotation] = holders
	}
	if !ofAnAgent(is) {
		return
	}
	for _, key := range []string{contract.ConfigDigestAnnotation, argocd.SkipReconcileAnnotation} {
		if value, there := is.Annotations[key]; there {
			want.Annotations[key] = value
		}
	}
	if name, there := is.Labels[argocd.AgentNameLabel]; there {
		want.Labels[argocd.AgentNameLabel] = name
	}
	for _, key := range []string{dataServer, dataConfig} {
		if value, there := is.Data[key]; there {
			want.Data[key] = value
		}
	}
}

// released returns the write for a Secret that no GitOpsCluster wants. One that names none is of
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
	return Step{Verb: VerbPatch, Why: "a GitOpsCluster does not select the cluster any more", Secret: is, patch: patch}, err
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
	return Step{Verb: VerbDelete, Why: why, Secret: is}
}

// Holders returns the GitOpsClusters that a Secret says it is wanted by.
func Holders(secret *corev1.Secret) []string {
	if list := secret.Annotations[contract.GitOpsClustersAnnotation]; list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// ClusterName returns the cluster that a Secret registers.
func ClusterName(secret *corev1.Secret) string { return string(secret.Data[dataName]) }
