// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
)

// watched is what is watched on one cluster: kinds are added as they are asked
// for them. It is used from one goroutine.
type watched struct {
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	factory dynamicinformer.DynamicSharedInformerFactory
	kinds   map[schema.GroupKind]*kind
	changed chan struct{}
	// unknown says that the cluster did not know a kind that was asked for.
	unknown bool
	// discovered is when the cluster was last asked for its kinds.
	discovered time.Time
}

// kind is one watched kind.
type kind struct {
	plural     string
	namespaced bool
	informer   cache.SharedIndexInformer
}

// rediscovery is how long a kind that the cluster did not know stays unknown.
const rediscovery = time.Second

func newWatched(config *rest.Config) (*watched, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	return &watched{
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer)),
		factory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0),
		kinds:   map[schema.GroupKind]*kind{},
		changed: make(chan struct{}, 1),
	}, nil
}

// kind returns a kind, and watches it from now on; nil if the cluster does not
// know it.
func (w *watched) kind(ctx context.Context, gk schema.GroupKind) *kind {
	if known := w.kinds[gk]; known != nil {
		return known
	}
	mapping, err := w.mapper.RESTMapping(gk)
	if err != nil && time.Since(w.discovered) > rediscovery {
		w.discovered = time.Now()
		w.mapper.Reset()
		mapping, err = w.mapper.RESTMapping(gk)
	}
	if err != nil {
		w.unknown = true
		return nil
	}
	informer := w.factory.ForResource(mapping.Resource).Informer()
	// It fails only for an informer that was stopped.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.touch() },
		UpdateFunc: func(any, any) { w.touch() },
		DeleteFunc: func(any) { w.touch() },
	})
	added := &kind{
		plural:     mapping.Resource.Resource,
		namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		informer:   informer,
	}
	w.kinds[gk] = added
	w.factory.Start(ctx.Done())
	return added
}

// touch says that something changed.
func (w *watched) touch() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// objects returns all objects of a kind that the cluster is known to have.
func (k *kind) objects() []*unstructured.Unstructured {
	if k == nil {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, item := range k.informer.GetStore().List() {
		if object, ok := item.(*unstructured.Unstructured); ok {
			out = append(out, object)
		}
	}
	return out
}

// find returns an object, or nil if the cluster does not have it. It is not
// known before the first list came in.
func (k *kind) find(namespace, name string) (object *unstructured.Unstructured, known bool) {
	if k == nil {
		return nil, true
	}
	key := name
	if k.namespaced {
		key = namespace + "/" + name
	}
	item, _, _ := k.informer.GetStore().GetByKey(key)
	object, _ = item.(*unstructured.Unstructured)
	return object, object != nil || k.informer.HasSynced()
}

// stop waits for the informers; their context has ended.
func (w *watched) stop() { w.factory.Shutdown() }
