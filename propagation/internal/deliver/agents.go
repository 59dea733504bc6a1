// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A label of a cluster Secret identifies an argocd-agent, whoever wrote the Secret. The agent's
// principal uses the same label. The principal takes every Application with the agent's name in
// spec.destination.name, unless it has IgnoreSyncLabel.

const (
	// secretsByAgent indexes cluster Secrets by the agent that they name.
	secretsByAgent = "deliver.agent"
	// applicationsByDestination indexes pulled Applications by spec.destination.name.
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

// anyAgent reports whether a list in one of the namespaces has a cluster Secret with an agent.
func anyAgent(ctx context.Context, from client.Reader, namespaces []string, name string, list client.ObjectList, named client.ListOption) (bool, error) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return false, nil
	}
	for _, namespace := range namespaces {
		if err := from.List(ctx, list, client.InNamespace(namespace), named, client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("list cluster Secrets of agent %s: %w", name, err)
		}
		if meta.LenList(list) > 0 {
			return true, nil
		}
	}
	return false, nil
}
