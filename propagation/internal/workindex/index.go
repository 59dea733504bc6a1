// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workindex tells which ManifestWorks carry which hub Applications.
package workindex

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// ApplicationOf returns the hub Application that a work of ours carries. The
// content decides whether it is ours, never the name.
func ApplicationOf(work metav1.Object) (app types.NamespacedName, ours bool) {
	if p, packed := work.(*Packed); packed {
		return p.app, p.app.Name != ""
	}
	app, named := Claimant(work)
	return app, named && work.GetLabels()[contract.PullLabel] == "true"
}

// Claimant returns the hub Application that a work's annotations name, whether or
// not the work still has the label by which the cache selects works.
func Claimant(work metav1.Object) (app types.NamespacedName, named bool) {
	a := work.GetAnnotations()
	app = types.NamespacedName{Namespace: a[contract.HubNamespaceAnnotation], Name: a[contract.HubNameAnnotation]}
	return app, app.Namespace != "" && app.Name != ""
}

// Index finds cached works by the Application that they carry. It is client-go's:
// the cache's own kind of index keeps every key twice, once for each namespace and
// once for all, which nobody here needs.
type Index struct {
	indexer toolscache.Indexer
}

const (
	byApplication = "workindex.application"
	// byDelivered has the works only that deliver to another namespace than the hub
	// Application's; of the others [byApplication] tells it already.
	byDelivered = "workindex.delivered"
)

// New adds the index to the informer that a cache has for ManifestWorks of all
// namespaces. Its transform must [Pack] them.
func New(ctx context.Context, c cache.Cache) (*Index, error) {
	informer, err := c.GetInformer(ctx, &workv1.ManifestWork{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch ManifestWorks: %w", err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, errors.New("index ManifestWorks: the cache is cut up by namespace")
	}
	return Over(shared.GetIndexer())
}

// Over makes an index of packed works, which others fill.
func Over(indexer toolscache.Indexer) (*Index, error) {
	err := indexer.AddIndexers(toolscache.Indexers{byApplication: func(object any) ([]string, error) {
		if work, ok := object.(*Packed); ok {
			if app, ours := ApplicationOf(work); ours {
				return []string{app.String()}, nil
			}
		}
		return nil, nil
	}, byDelivered: func(object any) ([]string, error) {
		if work, ok := object.(*Packed); ok && work.app.Name != "" && work.delivered != "" {
			return []string{deliveredKey(work.Namespace, types.NamespacedName{Namespace: work.delivered, Name: work.app.Name})}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index ManifestWorks: %w", err)
	}
	return &Index{indexer: indexer}, nil
}

// All returns every work, packed.
func (x *Index) All() []*Packed {
	objects := x.indexer.List()
	list := make([]*Packed, 0, len(objects))
	for _, object := range objects {
		if p, ok := object.(*Packed); ok {
			list = append(list, p)
		}
	}
	return list
}

// Of returns the works that carry an Application, on all clusters, without specs.
func (x *Index) Of(app types.NamespacedName) ([]*workv1.ManifestWork, error) {
	objects, err := x.indexer.ByIndex(byApplication, app.String())
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWorks of Application %s: %w", app, err)
	}
	list := make([]*workv1.ManifestWork, 0, len(objects))
	for _, object := range objects {
		if work := Work(object); work != nil {
			list = append(list, work)
		}
	}
	return list, nil
}

// Several reports whether more than one work carries an Application.
func (x *Index) Several(app types.NamespacedName) bool {
	keys, err := x.indexer.IndexKeys(byApplication, app.String())
	return err == nil && len(keys) > 1
}

// Delivering returns the works, without specs, that deliver the Application app, as
// it is called there, to a cluster: whichever hub Application they carry.
func (x *Index) Delivering(cluster string, app types.NamespacedName) ([]*workv1.ManifestWork, error) {
	same, err := x.indexer.ByIndex(byApplication, app.String())
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWorks of Application %s: %w", app, err)
	}
	others, err := x.indexer.ByIndex(byDelivered, deliveredKey(cluster, app))
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWorks that deliver %s to cluster %s: %w", app, cluster, err)
	}
	var list []*workv1.ManifestWork
	for _, object := range same {
		if p, ok := object.(*Packed); ok && p.Namespace == cluster && p.delivered == "" {
			list = append(list, p.Unpack())
		}
	}
	for _, object := range others {
		if p, ok := object.(*Packed); ok && !slices.ContainsFunc(list, func(w *workv1.ManifestWork) bool { return w.UID == p.UID }) {
			list = append(list, p.Unpack())
		}
	}
	return list, nil
}

func deliveredKey(cluster string, app types.NamespacedName) string {
	return cluster + "/" + app.String()
}

// On returns the Applications that works in a cluster's namespace carry.
func (x *Index) On(cluster string) ([]types.NamespacedName, error) {
	objects, err := x.indexer.ByIndex(toolscache.NamespaceIndex, cluster)
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWorks of cluster %s: %w", cluster, err)
	}
	apps := make([]types.NamespacedName, 0, len(objects))
	for _, object := range objects {
		if p, ok := object.(*Packed); ok && p.app.Name != "" {
			apps = append(apps, p.app)
		}
	}
	return apps, nil
}
