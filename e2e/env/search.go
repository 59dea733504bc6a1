// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
)

// startSearch starts the stand-in for search v2 in this process when the API server of every managed cluster
// is ready.
func (f *Fleet) startSearch(ctx context.Context) error {
	if f.Search != nil {
		return nil // search continues to run while the hub is replaced
	}
	clusters := map[string]*rest.Config{}
	for _, c := range f.Managed {
		select {
		case <-c.serving:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		clusters[c.Name] = c.Config
	}
	folder := f.Processes.path("search")
	if err := writeFiles(folder, nil); err != nil {
		return err
	}
	var err error
	f.Search, err = search.Start(context.WithoutCancel(ctx), search.Options{Dir: folder, Hub: f.Hub.Config, Clusters: clusters})
	if err != nil {
		return fmt.Errorf("start search: %w", err)
	}
	f.Product.search = f.Search
	return nil
}
