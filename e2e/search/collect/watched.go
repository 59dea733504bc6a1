// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// watched are the watches of one cluster. It starts the watch of a kind at the first request. Only one
// goroutine may use it.
type watched struct {
	cache  cache.Cache
	mapper meta.RESTMapper
	known  map[schema.GroupKind]bool
}

func newWatched(config *rest.Config) (*watched, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	w := &watched{known: map[schema.GroupKind]bool{}}
	if w.mapper, err = apiutil.NewDynamicRESTMapper(config, httpClient); err != nil {
		return nil, err
	}
	w.cache, err = cache.New(config, cache.Options{HTTPClient: httpClient, Mapper: w.mapper})
	return w, err
}

// kind returns the objects of a kind, and watches the kind from then on. It returns none if the cluster does
// not serve the kind.
func (w *watched) kind(ctx context.Context, gk schema.GroupKind) (plural string, objects []unstructured.Unstructured) {
	mapping, err := w.mapper.RESTMapping(gk)
	if err != nil {
		return "", nil
	}
	w.known[gk] = true
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if w.cache.List(ctx, list) != nil { // the kind was removed, or the process ends
		return "", nil
	}
	return mapping.Resource.Resource, list.Items
}

// find returns an object, or nil if the cluster does not have it or its kind.
func (w *watched) find(ctx context.Context, listed resource) *unstructured.Unstructured {
	mapping, err := w.mapper.RESTMapping(schema.GroupKind{Group: listed.Group, Kind: listed.Kind})
	if err != nil {
		return nil
	}
	w.known[mapping.GroupVersionKind.GroupKind()] = true
	key, object := client.ObjectKey{Name: listed.Name}, &unstructured.Unstructured{}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		key.Namespace = listed.Namespace
	}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if w.cache.Get(ctx, key, object) != nil { // not found, or ctx has ended
		return nil
	}
	return object
}
