// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// The right to list and watch Applications is no marker here: it would be granted
// where rendered mode is not in use, too. deploy/components/rendered grants it.

var selector = labels.SelectorFromSet(labels.Set{contract.RenderedLabel: "true"})

// Cache returns how the informer of Applications has to be trimmed.
func Cache() cache.ByObject {
	return cache.ByObject{Label: selector, Transform: Compact}
}

// Informer returns where the events of Applications come from, for the informers of
// a cache with [Cache].
func Informer(config *rest.Config) (slim.Source, error) {
	// An Application as far as [Compact] reads it.
	type slimApplication struct {
		Metadata slim.Meta       `json:"metadata"`
		Spec     json.RawMessage `json:"spec"`
		Status   json.RawMessage `json:"status"`
	}
	resource := argocd.GroupVersion.WithResource(argocd.ApplicationPlural)
	return slim.NewSource(config, resource, selector, func(a *slimApplication) *argocd.Application {
		return &argocd.Application{ObjectMeta: a.Metadata.ObjectMeta, Spec: a.Spec, Status: a.Status}
	})
}

// Follow feeds rows from a cache whose Applications are trimmed as [Cache] says. The
// rows know all that was there when waitForSync returns.
func Follow(ctx context.Context, rows *Rows, c cache.Cache) (waitForSync func(context.Context) error, err error) {
	applications, err := c.GetInformer(ctx, &argocd.Application{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Applications: %w", err)
	}
	clusters, err := c.GetInformer(ctx, &clusterv1.ManagedCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch ManagedClusters: %w", err)
	}
	ofApplications, err1 := applications.AddEventHandler(handler(rows.Set, rows.Delete))
	ofClusters, err2 := clusters.AddEventHandler(handler(
		func(c *clusterv1.ManagedCluster) { rows.SetCluster(status.ClusterOf(c.Name, c)) },
		func(key types.NamespacedName) { rows.SetCluster(status.ClusterOf(key.Name, nil)) },
	))
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("follow an informer: %w", err)
	}
	return func(ctx context.Context) error {
		if !toolscache.WaitForCacheSync(ctx.Done(), ofApplications.HasSynced, ofClusters.HasSynced) {
			return fmt.Errorf("wait for the first list of rendered Applications: %w", context.Cause(ctx))
		}
		return nil
	}, nil
}

func handler[T any](set func(T), gone func(types.NamespacedName)) toolscache.ResourceEventHandler {
	on := func(object any) {
		if o, ok := object.(T); ok {
			set(o)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    on,
		UpdateFunc: func(_, object any) { on(object) },
		DeleteFunc: func(object any) {
			key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
			if err != nil {
				return // neither an object nor the mark of a lost one: nothing that an informer sends
			}
			if namespace, name, err := toolscache.SplitMetaNamespaceKey(key); err == nil {
				gone(types.NamespacedName{Namespace: namespace, Name: name})
			}
		},
	}
}
