// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// An agent of argocd-agent is known as its principal knows it, by a label of a cluster
// Secret, by any writer. Its principal takes every Application whose
// spec.destination.name is the agent's name, but for those with IgnoreSyncLabel.

const (
	// secretsByAgent: cluster Secrets by the agent that they name.
	secretsByAgent = "deliver.agent"
	// applicationsByDestination: pulled Applications by spec.destination.name.
	applicationsByDestination = "deliver.destination"
)

func addAgentIndexes(ctx context.Context, indexer client.FieldIndexer, options Options) error {
	if len(options.AgentNamespaces) == 0 {
		return nil
	}
	if err := indexer.IndexField(ctx, &corev1.Secret{}, secretsByAgent, agentOf); err != nil {
		return fmt.Errorf("index %s: %w", secretsByAgent, err)
	}
	err := indexer.IndexField(ctx, &argocd.Application{}, applicationsByDestination, func(o client.Object) []string {
		if app, ok := o.(*argocd.Application); ok && app.Labels[contract.PullLabel] != "" {
			return some(payload.HubDestination(app))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index %s: %w", applicationsByDestination, err)
	}
	return nil
}

func agentOf(o client.Object) []string { return some(o.GetLabels()[argocd.AgentNameLabel]) }

// agentSecrets counts the cluster Secrets that name an agent. Past the cache their
// metadata is read, no key.
func agentSecrets(ctx context.Context, from inputReader, namespace, name string) (int, error) {
	if from.indexed {
		var list corev1.SecretList
		err := from.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{secretsByAgent: name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return 0, fmt.Errorf("list cluster Secrets of agent %s: %w", name, err)
		}
		return len(list.Items), nil
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := from.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{argocd.SecretTypeLabel: argocd.SecretTypeCluster, argocd.AgentNameLabel: name})
	if err != nil {
		return 0, fmt.Errorf("list cluster Secrets of agent %s: %w", name, err)
	}
	return len(list.Items), nil
}
