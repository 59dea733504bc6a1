// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appcache

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// WorkKind is the kind of ManifestWorks.
var WorkKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}

// pulledWorks selects the ManifestWorks that this project writes.
var pulledWorks = labels.SelectorFromSet(labels.Set{contract.PullLabel: "true"})

// These kinds have one object for each Application. Only the fields that are read are decoded.
type (
	slimWork struct {
		Metadata slim.Meta                 `json:"metadata"`
		Spec     workv1.ManifestWorkSpec   `json:"spec"`
		Status   workv1.ManifestWorkStatus `json:"status"`
	}
	slimApplication struct {
		Metadata  slim.Meta       `json:"metadata"`
		Spec      json.RawMessage `json:"spec"`
		Operation json.RawMessage `json:"operation"`
		Status    json.RawMessage `json:"status"`
	}
)

// Informers returns the constructor of informers for a cache with [Caches], for its option
// NewInformer.
func Informers(config *rest.Config) (slim.Constructor, error) {
	resource := schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	works, err := slim.NewSource(config, resource, func(w *slimWork) *workv1.ManifestWork {
		return &workv1.ManifestWork{ObjectMeta: w.Metadata.ObjectMeta, Spec: w.Spec, Status: w.Status}
	}, client.MatchingLabelsSelector{Selector: pulledWorks})
	if err != nil {
		return nil, err
	}
	apps, err := slim.NewSource(config, argocd.GroupVersion.WithResource(argocd.ApplicationPlural), func(a *slimApplication) *argocd.Application {
		return &argocd.Application{ObjectMeta: a.Metadata.ObjectMeta, Spec: a.Spec, Operation: a.Operation, Status: a.Status}
	})
	if err != nil {
		return nil, err
	}
	clusters, err := slim.ManagedClusters(config)
	if err != nil {
		return nil, err
	}
	return slim.Informers(works, apps, clusters), nil
}

// NewIndex returns the index of the ManifestWorks in a cache with [Caches].
func NewIndex(ctx context.Context, c cache.Cache) (*manifestcache.Index, error) {
	works, err := slim.Indexer(ctx, c, &workv1.ManifestWork{}, manifestcache.IndexFuncs())
	if err != nil {
		return nil, err
	}
	return manifestcache.NewIndex(works), nil
}

// NewClient returns the client of the manager. When it creates a ManifestWork, the API server does
// not send the object back. Those responses would be a large part of the cost of the first delivery
// to a fleet. It reads ManifestWorks from the API server, because the cache does not keep them
// whole.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	if options.Cache != nil {
		options.Cache.DisableFor = append(options.Cache.DisableFor, &workv1.ManifestWork{})
	}
	return slim.NewClient(config, options, WorkKind)
}
