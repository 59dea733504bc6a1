// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// metadataOnly asks the API server to return only an object's metadata.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// NewClient returns a client that differs from the default in one point. After Create and Update,
// an object of one of the kinds has its new metadata. Its other fields keep their values, even if
// the API server has set defaults or pruned fields. Its type must embed an ObjectMeta. Errors are
// the same as with the default client.
func NewClient(config *rest.Config, options client.Options, kinds ...schema.GroupVersionKind) (client.WithWatch, error) {
	if options.HTTPClient == nil {
		http, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, err
		}
		options.HTTPClient = http
	}
	usual, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	c := &slimClient{WithWatch: usual, kinds: map[schema.GroupVersionKind]*kind{}}
	codecs := serializer.NewCodecFactory(usual.Scheme())
	for _, gvk := range kinds {
		api, err := apiutil.RESTClientForGVK(gvk, false, false, config, codecs, options.HTTPClient)
		if err != nil {
			return nil, fmt.Errorf("make a client for %s: %w", gvk.Kind, err)
		}
		c.kinds[gvk] = &kind{api: api}
	}
	return c, nil
}

type slimClient struct {
	client.WithWatch
	kinds map[schema.GroupVersionKind]*kind
}

// kind is a kind with objects that this client writes.
type kind struct {
	api     rest.Interface
	mapping atomic.Pointer[meta.RESTMapping] // cached, because the lookup takes time
}

// Create creates obj.
func (c *slimClient) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	w, err := c.writer(obj)
	if err != nil {
		return err
	}
	if w == nil {
		return c.WithWatch.Create(ctx, obj, options...)
	}
	o := (&client.CreateOptions{}).ApplyOptions(options)
	return w.send(ctx, w.api.Post().VersionedParams(o.AsCreateOptions(), metav1.ParameterCodec))
}

// Update replaces obj.
func (c *slimClient) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	w, err := c.writer(obj)
	if err != nil {
		return err
	}
	if w == nil {
		return c.WithWatch.Update(ctx, obj, options...)
	}
	o := (&client.UpdateOptions{}).ApplyOptions(options)
	return w.send(ctx, w.api.Put().Name(obj.GetName()).VersionedParams(o.AsUpdateOptions(), metav1.ParameterCodec))
}

// writer writes one object.
type writer struct {
	api     rest.Interface
	mapping *meta.RESTMapping
	object  client.Object
	meta    *metav1.ObjectMeta
}

// writer returns the writer of obj, or nil if the default client has to write it.
func (c *slimClient) writer(obj client.Object) (*writer, error) {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	k, ok := c.kinds[gvk]
	if !ok {
		return nil, nil
	}
	accessor, ok := obj.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil, nil
	}
	m, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return nil, nil // unstructured: not a struct with an ObjectMeta
	}
	mapping := k.mapping.Load()
	if mapping == nil {
		if mapping, err = c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return nil, fmt.Errorf("find the resource of %s: %w", gvk.Kind, err)
		}
		k.mapping.Store(mapping)
	}
	return &writer{k.api, mapping, obj, m}, nil
}

func (w *writer) send(ctx context.Context, request *rest.Request) error {
	result := request.NamespaceIfScoped(w.meta.Namespace, w.mapping.Scope.Name() == meta.RESTScopeNameNamespace).
		Resource(w.mapping.Resource.Resource).SetHeader("Accept", metadataOnly).Body(w.object).Do(ctx)
	if err := result.Error(); err != nil { // it has the API server's message, unlike the error of Raw
		return err
	}
	raw, err := result.Raw()
	if err != nil {
		return err
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("decode the answer to the write of %s %s/%s: %w", w.mapping.GroupVersionKind.Kind, w.meta.Namespace, w.meta.Name, err)
	}
	*w.meta = answer.ObjectMeta
	return nil
}
