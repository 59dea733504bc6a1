// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Source has the events of one kind. [NewSource] returns one.
type Source struct {
	kind  reflect.Type
	watch toolscache.WatchFuncWithContext
	page  page
}

// ListWatch returns a lister and watcher for a Reflector with a store that does not belong to an
// informer.
func (s Source) ListWatch() toolscache.ListerWatcher {
	return s.trimming(new(toolscache.TransformFunc))
}

// trimming returns a lister and watcher. Its lists apply the value that trim has when the list
// begins.
func (s Source) trimming(trim *toolscache.TransformFunc) toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return s.list(ctx, *trim)
		},
		WatchFuncWithContext: s.watch,
	}
}

// NewSource returns the source of a custom resource's objects in all namespaces that match
// selectors. It decodes an object as T, which may leave out fields that no handler reads. object
// converts a T to the Go type of the kind, with name, namespace, UID, resource version and
// annotations. A bookmark has nothing else. The selectors must be the cache's own for the kind. A
// status that T cannot hold counts as empty.
func NewSource[T any, O client.Object](config *rest.Config, resource schema.GroupVersionResource, object func(*T) O, selectors ...client.ListOption) (Source, error) {
	of, err := newEndpoint(config, resource)
	if err != nil {
		return Source{}, err
	}
	own := (&client.ListOptions{}).ApplyOptions(selectors).AsListOptions()
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector, options.FieldSelector = own.LabelSelector, own.FieldSelector
		return options
	}
	page := func(ctx context.Context, options metav1.ListOptions, each func(runtime.Object)) (metav1.ListMeta, error) {
		return decodePage(ctx, of, "", selected(options), func(t *T) error {
			each(object(t))
			return nil
		})
	}
	return Source{kind: reflect.TypeFor[O](), page: page, watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		stream, err := of.stream(ctx, "", selected(options))
		if err != nil {
			return nil, err
		}
		return watch.NewStreamWatcherWithLogger(
			klog.FromContext(ctx),
			newDecoder(stream, func(t *T) runtime.Object { return object(t) }),
			apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding"),
		), nil
	}}, nil
}

// endpoint requests lists and watches of one kind.
type endpoint struct {
	requests *rest.RESTClient
	resource schema.GroupVersionResource
}

func newEndpoint(config *rest.Config, resource schema.GroupVersionResource) (endpoint, error) {
	requests, err := restClient(config, resource.GroupVersion())
	if err != nil {
		return endpoint{}, fmt.Errorf("make a client for %s: %w", resource.GroupResource(), err)
	}
	return endpoint{requests, resource}, nil
}

// stream requests the objects of a namespace, or of all namespaces if it is "". It returns the API
// server's own error with its reason, which the Reflector needs.
func (e endpoint) stream(ctx context.Context, namespace string, options metav1.ListOptions) (io.ReadCloser, error) {
	return e.requests.Get().NamespaceIfScoped(namespace, namespace != "").Resource(e.resource.Resource).
		SpecificallyVersionedParams(&options, parameters, core).Stream(ctx)
}

// core is the version of errors and options, which all API groups have in common.
var core = schema.GroupVersion{Version: "v1"}

var answers = func() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, core)
	return s
}()

var parameters = runtime.NewParameterCodec(answers)

func restClient(config *rest.Config, version schema.GroupVersion) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.APIPath, c.GroupVersion = "/apis", &version
	c.NegotiatedSerializer = serializer.NewCodecFactory(answers).WithoutConversion()
	return rest.RESTClientFor(c)
}

// Constructor creates an informer. A cache of controller-runtime has an option NewInformer for it.
type Constructor = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// Informers returns a constructor of informers that use the sources of their kinds. Other kinds use
// client-go as usual.
func Informers(sources ...Source) Constructor {
	byKind := make(map[reflect.Type]Source, len(sources))
	for _, s := range sources {
		byKind[s.kind] = s
	}
	return func(lists toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		s, ok := byKind[reflect.TypeOf(object)]
		if !ok {
			return toolscache.NewSharedIndexInformer(lists, object, resync, indexers)
		}
		i := &informer{}
		i.SharedIndexInformer = toolscache.NewSharedIndexInformer(s.trimming(&i.trim), object, resync, indexers)
		return i
	}
}

// informer is an informer that also trims objects of a list.
type informer struct {
	toolscache.SharedIndexInformer
	trim toolscache.TransformFunc
}

// SetTransform is called before the informer runs, as [toolscache.SharedInformer] requires.
func (i *informer) SetTransform(trim toolscache.TransformFunc) error {
	i.trim = trim
	return i.SharedIndexInformer.SetTransform(trim)
}
