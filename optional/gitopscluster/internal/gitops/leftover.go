// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Add-ons are listed while a GitOpsCluster is being deleted, as metadata.
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=managedclusteraddons,verbs=list

// notAllowed reports whether gitopscluster does not work in the namespace of the Argo CD.
func (f found) notAllowed() bool {
	return f.intent.Refusal != nil && f.intent.Refusal.Reason == intent.ReasonNamespaceNotAllowed
}

// hasAgent reports whether a cluster's Secret has the content that we set for an agent.
func (f found) hasAgent(cluster string) bool {
	return f.secrets[cluster] != nil && f.secrets[cluster].Annotations[contract.ConfigDigestAnnotation] != ""
}

// clustersOf divides the clusters that a GitOpsCluster holds into selected clusters and others. held is
// true for a cluster with the agent of this GitOpsCluster, as the Secret shows.
func (f found) clustersOf(owner string, holds map[string]bool) (selected []string, held map[string]bool) {
	held = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(holds)) {
		if f.selected[name] != nil {
			selected = append(selected, name)
			continue
		}
		held[name] = f.hasAgent(name) && slices.Contains(clustersecret.Holders(f.secrets[name]), owner)
	}
	return selected, held
}

// addKept reports clusters that would leave and cannot, since gitopscluster runs without agents.
func (r *Reconciler) addKept(f found, holds map[string]bool, leave []string, facts *intent.Facts) {
	for _, cluster := range leave {
		if r.options.Agents != nil || !holds[cluster] || !f.hasAgent(cluster) {
			continue
		}
		if facts.AgentsLeaving == nil {
			facts.AgentsLeaving = map[string]string{}
		}
		facts.AgentsLeaving[cluster] = intent.WithoutAgents
	}
}

// leftover returns why other flags of gitopscluster delay the deletion of a GitOpsCluster, and the
// flag that is needed. It returns "" if nothing delays the deletion.
func (r *Reconciler) leftover(ctx context.Context, o *v1beta1.GitOpsCluster, f found) (string, error) {
	if !f.notAllowed() && r.options.Agents != nil {
		return "", nil
	}
	names, err := r.addOns(ctx, key(o).String())
	if err != nil {
		return "", err
	}
	var flags []string
	if len(names) > 0 && r.options.Agents == nil {
		flags = append(flags, "--agents")
	}
	namespace := contract.Token(f.intent.ArgoNamespace, &contract.Rejected{})
	if f.notAllowed() {
		flags = append(flags, "--argocd-namespace="+namespace)
	}
	start := "start gitopscluster with " + strings.Join(flags, " and ")
	if n := len(names); n > 0 {
		return fmt.Sprintf("argocd-agent is still on %d clusters (%s); %s", n, strings.Join(names[:min(n, 5)], ", "), start), nil
	}
	if !f.notAllowed() {
		return "", nil
	}
	is := found{intent: f.intent}
	err = hubReader{Reader: secretsOf{r.client, r.live}, everyIn: r.options.everyIn()}.observeSecrets(ctx, o, &is)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("its cluster Secrets may be in namespace %[1]s, which gitopscluster may not read; %[2]s, and grant it Secrets there. If that namespace is gone, remove finalizer %[3]s", namespace, start, intent.GitOpsClusterFinalizer), nil
	case err != nil:
		return "", err
	case len(is.held) > 0:
		return fmt.Sprintf("%d of its cluster Secrets are in namespace %s; %s", len(is.held), namespace, start), nil
	}
	return "", nil
}

// addOns returns the clusters that have an add-on because of a GitOpsCluster, sorted.
func (r *Reconciler) addOns(ctx context.Context, owner string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: addonv1alpha1.GroupName, Version: addonv1alpha1.GroupVersion.Version, Kind: "ManagedClusterAddOnList"})
	err := r.live.List(ctx, list, client.MatchingLabels{agent.OwnedLabel: "true"})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list ManagedClusterAddOns: %w", err)
	}
	var names []string
	for i := range list.Items {
		a := &list.Items[i]
		if r.agents != nil && !a.DeletionTimestamp.IsZero() {
			continue // release waits for its agents unless the cluster is released without proof
		}
		if a.Name == agent.AddOnName && agent.IsOurs(a) && a.Annotations[agent.OwnerAnnotation] == owner {
			names = append(names, a.Namespace)
		}
	}
	slices.Sort(names)
	return names, nil
}
