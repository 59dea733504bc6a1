// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Indexer returns the store of the informer that a cache has for an object's kind in all
// namespaces, with additional indexes of client-go. The cache's own indexes keep every key twice,
// for its namespace and for all namespaces.
func Indexer(ctx context.Context, c cache.Cache, object client.Object, indexes map[string]func(any) ([]string, error)) (toolscache.Indexer, error) {
	informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch %T: %w", object, err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("index %T: the cache is cut up by namespace", object)
	}
	indexers := toolscache.Indexers{}
	for name, keys := range indexes {
		indexers[name] = keys
	}
	if err := shared.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("index %T: %w", object, err)
	}
	return shared.GetIndexer(), nil
}
