// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the indexes of the cache. An object without the key is not in the index.
const (
	// applicationsByCluster indexes Applications by the cluster that they name.
	applicationsByCluster = "deliver.cluster"
	// applicationsByProject indexes pulled Applications by AppProject.
	applicationsByProject = "deliver.project"
	// applicationsByIdentity indexes pulled Applications (see identityOf).
	applicationsByIdentity = "deliver.identity"
	// decisionsByCluster indexes PlacementDecisions by the clusters that they select.
	decisionsByCluster = "deliver.decision"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer, argocdNamespace string) error {
	for _, i := range []struct {
		object client.Object
		name   string
		keys   client.IndexerFunc
	}{
		{&argocd.Application{}, applicationsByCluster, func(o client.Object) []string { return some(o.GetAnnotations()[contract.ClusterAnnotation]) }},
		{&argocd.Application{}, applicationsByProject, func(o client.Object) []string {
			app, ok := o.(*argocd.Application)
			if !ok || app.Annotations[contract.ClusterAnnotation] == "" {
				return nil
			}
			name := payload.ProjectName(app)
			if name == argocd.DefaultProject && app.Namespace == argocdNamespace {
				return nil // "default" is not delivered, see ofProject
			}
			return []string{name}
		}},
		{&argocd.Application{}, applicationsByIdentity, identityOf},
		{&clusterv1beta1.PlacementDecision{}, decisionsByCluster, func(o client.Object) []string {
			if d, ok := o.(*clusterv1beta1.PlacementDecision); ok {
				return chosen(d)
			}
			return nil
		}},
	} {
		if err := indexer.IndexField(ctx, i.object, i.name, i.keys); err != nil {
			return fmt.Errorf("index %s: %w", i.name, err)
		}
	}
	return nil
}

// identityOf indexes pulled Applications that have another name or namespace on the cluster than on
// the hub. The others are found by their name.
func identityOf(o client.Object) []string {
	app, ok := o.(*argocd.Application)
	if !ok || !contract.IsPulled(app.Labels) || app.Annotations[contract.ClusterAnnotation] == "" || payload.DeliveredNamespace(app) == app.Namespace {
		return nil
	}
	return []string{identityKey(app.Annotations[contract.ClusterAnnotation], payload.DeliveredName(app))}
}

func identityKey(cluster string, app types.NamespacedName) string {
	return cluster + "/" + app.String()
}

// chosen returns the clusters that a PlacementDecision selects.
func chosen(d *clusterv1beta1.PlacementDecision) []string {
	clusters := make([]string, 0, len(d.Status.Decisions))
	for _, decision := range d.Status.Decisions {
		clusters = append(clusters, decision.ClusterName)
	}
	return clusters
}

func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
