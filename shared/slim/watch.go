// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Source is where the events of one kind come from. [NewSource] makes one.
type Source struct {
	kind  reflect.Type
	watch toolscache.WatchFuncWithContext
	list  func(context.Context, metav1.ListOptions, any) error
}

// Watch opens a watch, for a Reflector whose store is not an informer's.
func (s Source) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(ctx, options)
}

// List decodes a list into a type of the caller's own, for the same.
func (s Source) List(ctx context.Context, options metav1.ListOptions, into any) error {
	return s.list(ctx, options, into)
}

// NewSource returns the source of a custom resource's objects in all namespaces that match
// labels. What the API server sends is decoded as a T, which may leave out what
// no handler reads, and object makes the kind's own Go type of it, with name, namespace,
// UID, resource version and annotations (a bookmark has nothing else). The labels
// must be the cache's own selector for the kind; nil selects all.
func NewSource[T any, O client.Object](config *rest.Config, resource schema.GroupVersionResource, selector labels.Selector, object func(*T) O) (Source, error) {
	requests, err := restClient(config, resource.GroupVersion())
	if err != nil {
		return Source{}, fmt.Errorf("make a client for %s: %w", resource.GroupResource(), err)
	}
	parameters := runtime.NewParameterCodec(answers)
	list := func(ctx context.Context, options metav1.ListOptions, into any) error {
		if selector != nil {
			options.LabelSelector = selector.String()
		}
		data, err := requests.Get().Resource(resource.Resource).SpecificallyVersionedParams(&options, parameters, core).DoRaw(ctx)
		if err != nil {
			return err // as below
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("decode the list of %s: %w", resource.GroupResource(), err)
		}
		return nil
	}
	return Source{kind: reflect.TypeFor[O](), list: list, watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		if selector != nil {
			options.LabelSelector = selector.String()
		}
		stream, err := requests.Get().Resource(resource.Resource).SpecificallyVersionedParams(&options, parameters, core).Stream(ctx)
		if err != nil {
			return nil, err // the API server's own error: the Reflector looks at its reason
		}
		return watch.NewStreamWatcherWithLogger(
			klog.FromContext(ctx),
			newDecoder(stream, func(t *T) runtime.Object { return object(t) }),
			apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding"),
		), nil
	}}, nil
}

// core is the version of what all API groups have in common: errors and options.
var core = schema.GroupVersion{Version: "v1"}

var answers = func() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, core)
	return s
}()

func restClient(config *rest.Config, version schema.GroupVersion) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.APIPath, c.GroupVersion = "/apis", &version
	c.NegotiatedSerializer = serializer.NewCodecFactory(answers).WithoutConversion()
	return rest.RESTClientFor(c)
}

// Constructor makes an informer; a cache of controller-runtime takes one as its
// NewInformer option.
type Constructor = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// Informers returns a constructor of informers that get their events from the
// sources of their kinds, and as always for other kinds.
func Informers(sources ...Source) Constructor {
	byKind := make(map[reflect.Type]Source, len(sources))
	for _, s := range sources {
		byKind[s.kind] = s
	}
	return func(lists toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if s, ok := byKind[reflect.TypeOf(object)]; ok {
			lists = &toolscache.ListWatch{
				ListWithContextFunc:  toolscache.ToListerWithContext(lists).ListWithContext,
				WatchFuncWithContext: s.watch,
			}
		}
		return toolscache.NewSharedIndexInformer(lists, object, resync, indexers)
	}
}
