// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// These are the reasons for which the decisions of a Placement are unknown.
const (
	reasonPlacementNotFound = "PlacementNotFound"
	reasonNoDecision        = "NoDecision"
	reasonNoSetBinding      = "NoSetBinding"

	// unboundReason is OCM's reason for a Placement without a ManagedClusterSetBinding.
	unboundReason = "NoManagedClusterSetBindings"
)

// These objects are read, all through the cache.
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placements;placementdecisions,verbs=list;watch
// Only Namespaces with a label of Argo CD's owner are read.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

// hubReader reads the objects with which a GitOpsCluster is compared, from the cache or the API
// server.
type hubReader struct {
	client.Reader
	// everyIn is as in [Assignments].
	everyIn string
}

// found is the state of one GitOpsCluster on the hub.
type found struct {
	intent intent.Intent
	// problem is why the Placement's decisions are unknown.
	problem *intent.Problem
	// selected are the ManagedClusters to be registered.
	selected map[string]*clusterv1.ManagedCluster
	// secrets are our cluster Secrets of the namespace by cluster. rivals are the Secrets of other
	// writers.
	secrets map[string]*corev1.Secret
	rivals  map[string]string
	// held are the clusters that the GitOpsCluster holds according to the Secrets. agentOnly are the
	// clusters that have its agent and that it does not hold. Another writer, another GitOpsCluster, or
	// --register=all has registered them.
	held, agentOnly map[string]bool
}

// withoutSecret reports whether a cluster has only the agent of the GitOpsCluster and is no longer selected.
// The GitOpsCluster then does not become a holder of its Secret.
func (f found) withoutSecret(cluster string) bool {
	return f.agentOnly[cluster] && f.selected[cluster] == nil
}

// existing returns the clusters that have a Secret or an agent because of the GitOpsCluster.
func (f found) existing() map[string]bool {
	all := maps.Clone(f.held)
	maps.Copy(all, f.agentOnly)
	return all
}

// admitted reads which GitOpsClusters of other namespaces the owner of an Argo CD's Namespace
// admits.
func (h hubReader) admitted(ctx context.Context, o *v1beta1.GitOpsCluster) (intent.Admitted, error) {
	name := intent.ArgoNamespace(o)
	if name == o.Namespace {
		return intent.Admitted{}, nil // it needs none
	}
	namespace := &corev1.Namespace{}
	err := h.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return intent.Admitted{}, fmt.Errorf("get Namespace %s: %w", name, err)
	}
	return intent.AdmittedBy(namespace.Labels), nil
}

// observe reads the state of a GitOpsCluster. installed has the clusters with an agent.
func (h hubReader) observe(ctx context.Context, o *v1beta1.GitOpsCluster, in intent.Intent, installed map[agents.Holder][]string) (found, error) {
	f := found{intent: in, selected: map[string]*clusterv1.ManagedCluster{}}
	if in.Refusal != nil && in.Refusal.Reason == intent.ReasonNamespaceNotAllowed {
		return f, nil // existing objects are not read either
	}
	if err := h.observeSecrets(ctx, o, &f); err != nil {
		return f, err
	}
	own := installed[agents.Holder{Owner: key(o), ArgoNamespace: in.ArgoNamespace}]
	if err := h.observeAgents(ctx, own, &f); err != nil || in.Refusal != nil {
		return f, err
	}
	names, problem, err := h.decisions(ctx, o.Namespace, in.Placement)
	if err != nil {
		return f, err
	}
	f.problem = problem
	for _, name := range names {
		cluster := &clusterv1.ManagedCluster{}
		err := h.Get(ctx, client.ObjectKey{Name: name}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return f, fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		if err == nil && clustersecret.Registrable(cluster) {
			f.selected[name] = cluster
		}
	}
	return f, nil
}

// decisions returns the clusters that a Placement selects, or why they are unknown.
func (h hubReader) decisions(ctx context.Context, namespace, name string) ([]string, *intent.Problem, error) {
	placement := &clusterv1beta1.Placement{}
	err := h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, placement)
	if apierrors.IsNotFound(err) {
		return nil, &intent.Problem{Reason: reasonPlacementNotFound, Message: fmt.Sprintf("there is no Placement %s in namespace %s; create it or correct spec.placementRef.name", name, namespace)}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get Placement %s/%s: %w", namespace, name, err)
	}
	satisfied := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if satisfied != nil && satisfied.Reason == unboundReason {
		return nil, &intent.Problem{Reason: reasonNoSetBinding, Message: fmt.Sprintf("no ManagedClusterSet is bound to namespace %s, so Placement %s selects nothing; create a ManagedClusterSetBinding there", namespace, name)}, nil
	}
	list := &clusterv1beta1.PlacementDecisionList{}
	if err := h.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: name}); err != nil {
		return nil, nil, fmt.Errorf("list PlacementDecisions of %s/%s: %w", namespace, name, err)
	}
	var names []string
	for i := range list.Items {
		for _, d := range list.Items[i].Status.Decisions {
			if d.ClusterName != "" {
				names = append(names, d.ClusterName)
			}
		}
	}
	// OCM creates an empty PlacementDecision first, fills it, and then reports that it is complete.
	undecided := satisfied == nil && placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true"
	if len(list.Items) == 0 || len(names) == 0 && undecided {
		return nil, &intent.Problem{Reason: reasonNoDecision, Message: fmt.Sprintf("Placement %s has no decision yet; see the conditions of that Placement, and whether OCM's placement controller runs", name)}, nil
	}
	slices.Sort(names)
	return slices.Compact(names), nil, nil
}

// lookAtSecrets reads which clusters the GitOpsCluster holds. A Secret of ours without a holder
// belongs to the oldest GitOpsCluster in its namespace. It comes from the time when every cluster
// was registered, or its GitOpsCluster was removed by force.
func (h hubReader) observeSecrets(ctx context.Context, o *v1beta1.GitOpsCluster, f *found) error {
	f.secrets, f.rivals, f.held = map[string]*corev1.Secret{}, map[string]string{}, map[string]bool{}
	secrets := &corev1.SecretList{}
	if err := h.List(ctx, secrets, client.InNamespace(f.intent.ArgoNamespace), clustersecret.Selector, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list cluster Secrets of %s: %w", f.intent.ArgoNamespace, err)
	}
	exists, oldest, err := h.siblings(ctx, o, f.intent.ArgoNamespace)
	if err != nil {
		return err
	}
	own := client.ObjectKeyFromObject(o).String()
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		cluster := clustersecret.ClusterName(secret)
		if !clustersecret.IsOwn(secret) {
			f.rivals[cluster] = secret.Name
			continue
		}
		f.secrets[cluster] = secret
		holders := clustersecret.Holders(secret)
		orphan := oldest && f.intent.ArgoNamespace != h.everyIn && !slices.ContainsFunc(holders, func(name string) bool { return exists[name] })
		if orphan || slices.Contains(holders, own) {
			f.held[cluster] = true
		}
	}
	return nil
}

// observeAgents reads which of the clusters with an agent of the GitOpsCluster it does not hold. If
// the ManagedCluster is being deleted or is not accepted any more, the agent leaves at once, as the
// Secret does. If it does not exist, the hub may be in a restore.
func (h hubReader) observeAgents(ctx context.Context, installed []string, f *found) error {
	f.agentOnly = map[string]bool{}
	if f.intent.Agent == nil {
		return nil // the spec requests no agent
	}
	for _, name := range installed {
		if f.held[name] {
			continue
		}
		cluster := &clusterv1.ManagedCluster{}
		err := h.Get(ctx, client.ObjectKey{Name: name}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		if err != nil || clustersecret.Registrable(cluster) {
			f.agentOnly[name] = true
		}
	}
	return nil
}

// siblings returns the existing GitOpsClusters of an Argo CD, and whether o is the oldest remaining
// GitOpsCluster in its namespace. The oldest one decides about Secrets without a holder, because it
// belongs to the owner of that Argo CD.
func (h hubReader) siblings(ctx context.Context, o *v1beta1.GitOpsCluster, argocd string) (exists map[string]bool, oldest bool, err error) {
	list := &v1beta1.GitOpsClusterList{}
	if err := h.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, fmt.Errorf("list GitOpsClusters: %w", err)
	}
	own := client.ObjectKeyFromObject(o)
	exists, oldest = map[string]bool{own.String(): true}, o.DeletionTimestamp.IsZero() && o.Namespace == argocd
	for i := range list.Items {
		other := &list.Items[i]
		if intent.ArgoNamespace(other) != argocd || client.ObjectKeyFromObject(other) == own {
			continue
		}
		exists[client.ObjectKeyFromObject(other).String()] = true
		if other.DeletionTimestamp.IsZero() && other.Namespace == argocd && Older(other, o) {
			oldest = false
		}
	}
	return exists, oldest, nil
}

// facts returns the input of the status, without the clusters that are removed.
func (f found) facts(o *v1beta1.GitOpsCluster, taken func(cluster string) string) intent.Facts {
	facts := intent.Facts{Intent: f.intent, Generation: o.Generation, Deleting: !o.DeletionTimestamp.IsZero(), Placement: f.problem, Taken: map[string]string{}}
	facts.Clusters.Selected = len(f.selected)
	for cluster := range f.selected {
		by := f.rivals[cluster]
		if by == "" && f.secrets[cluster] == nil {
			by = taken(cluster)
		}
		secret := f.secrets[cluster]
		switch {
		case by != "":
			facts.Taken[cluster] = by
		case secret == nil || !slices.Contains(clustersecret.Holders(secret), key(o).String()):
			facts.Missing = append(facts.Missing, cluster)
		default:
			facts.Clusters.Registered++
		}
	}
	slices.Sort(facts.Missing)
	facts.Clusters.Taken = len(facts.Taken)
	if facts.Deleting {
		facts.Clusters.Leaving = len(f.existing())
	}
	return facts
}

// plan returns the writes that a GitOpsCluster that holds clusters would cause.
func (f found) plan(o *v1beta1.GitOpsCluster, holds map[string]bool, instanceLabel, everyIn string, clusters map[string]*clusterv1.ManagedCluster, planned func(namespace, cluster string) (string, []byte, error), others func(cluster string) []string) ([]v1beta1.PlannedWrite, error) {
	var list []v1beta1.PlannedWrite
	has := slices.Contains(o.Finalizers, intent.GitOpsClusterFinalizer)
	switch deleting := !o.DeletionTimestamp.IsZero(); {
	case deleting && has:
		list = append(list, v1beta1.PlannedWrite{Verb: clustersecret.VerbPatch, Kind: v1beta1.Kind, Namespace: o.Namespace, Name: o.Name, Why: "its finalizer is removed once its clusters have left"})
	case !deleting && !has && f.intent.Refusal == nil:
		list = append(list, v1beta1.PlannedWrite{Verb: clustersecret.VerbPatch, Kind: v1beta1.Kind, Namespace: o.Namespace, Name: o.Name, Why: "a finalizer keeps it until its clusters have left"})
	}
	concerned := maps.Clone(holds)
	maps.Copy(concerned, f.held)
	maps.DeleteFunc(concerned, func(cluster string, _ bool) bool {
		return f.withoutSecret(cluster) || f.rivals[cluster] != "" && f.secrets[cluster] == nil
	})
	namespace := f.intent.ArgoNamespace
	for cluster := range concerned {
		want := clustersecret.Desired{Decided: true, Holders: others(cluster)}
		if holds[cluster] {
			want.Holders = append(want.Holders, key(o).String())
			slices.Sort(want.Holders)
		} else {
			want.Released = []string{key(o).String()}
		}
		want.Registered = len(want.Holders) > 0 || namespace == everyIn
		if want.Registered {
			shape(planned, &want, namespace, cluster)
		}
		step, err := clustersecret.Plan(f.secrets[cluster], clusters[cluster], namespace, instanceLabel, want)
		if err != nil {
			return nil, err
		}
		if step.Verb != "" {
			list = append(list, v1beta1.PlannedWrite{Verb: step.Verb, Kind: "Secret", Namespace: namespace, Name: clustersecret.Name(cluster), Why: step.Why})
		}
	}
	slices.SortFunc(list, comparePlanned)
	return list, nil
}

// clusters returns the ManagedClusters that something may be done about.
func (h hubReader) clusters(ctx context.Context, f found) (map[string]*clusterv1.ManagedCluster, error) {
	all := map[string]*clusterv1.ManagedCluster{}
	for name, cluster := range f.selected {
		all[name] = cluster
	}
	for name := range f.held {
		if all[name] != nil {
			continue
		}
		cluster := &clusterv1.ManagedCluster{}
		err := h.Get(ctx, client.ObjectKey{Name: name}, cluster)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		all[name] = cluster
	}
	return all, nil
}

func comparePlanned(a, b v1beta1.PlannedWrite) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
}

// trimmed reads Secrets as the cache has them, without key material. A hub without the
// CustomResourceDefinition has no GitOpsClusters.
type trimmed struct{ client.Reader }

func (t trimmed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := t.Reader.List(ctx, list, opts...)
	if secrets, ok := list.(*corev1.SecretList); ok {
		for i := range secrets.Items {
			clustersecret.Trim(&secrets.Items[i])
		}
	}
	if _, ok := list.(*v1beta1.GitOpsClusterList); ok && meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// secretsOf reads Secrets from the API server, everything else from the cache.
type secretsOf struct {
	client.Reader
	live client.Reader
}

func (s secretsOf) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.SecretList); ok {
		return trimmed{s.live}.List(ctx, list, opts...)
	}
	return s.Reader.List(ctx, list, opts...)
}
