// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// pageSize is how many objects one request of a list returns.
const pageSize = 500

// page requests a part of a list and calls each with its objects, one by one.
type page func(ctx context.Context, options metav1.ListOptions, each func(runtime.Object)) (metav1.ListMeta, error)

// list returns all objects as trim leaves them. It trims each object before it decodes the next.
// It reads the API server's newest state, because the API server does not divide older ones
// into pages. If the API server no longer has the state that the first page came from, the pager
// lists again, without pages.
func (s Source) list(ctx context.Context, trim toolscache.TransformFunc) (runtime.Object, error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		var failed error
		list := &metainternalversion.List{}
		meta, err := s.page(ctx, options, func(o runtime.Object) {
			if trim != nil && failed == nil {
				o, failed = trimmed(trim, o)
			}
			list.Items = append(list.Items, o)
		})
		if err != nil {
			return nil, err
		}
		list.ListMeta = meta
		return list, failed
	})
	pages.PageSize = pageSize
	all, _, err := pages.ListWithAlloc(ctx, metav1.ListOptions{})
	return all, err
}

func trimmed(trim toolscache.TransformFunc, o runtime.Object) (runtime.Object, error) {
	kept, err := trim(o)
	if err != nil {
		return nil, fmt.Errorf("trim a listed %T: %w", o, err)
	}
	object, ok := kept.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("trim a listed %T: a %T is not an object", o, kept)
	}
	return object, nil
}

// Lister lists the custom resources of one kind. It decodes them one by one and keeps none, so that
// their number and their sizes do not decide how much memory a list needs. [NewLister] returns one.
type Lister[T any] struct{ of endpoint }

// NewLister returns a lister that decodes an object as T, which may leave out fields.
func NewLister[T any](config *rest.Config, resource schema.GroupVersionResource) (Lister[T], error) {
	of, err := newEndpoint(config, resource)
	return Lister[T]{of}, err
}

// errEnough ends a list early.
var errEnough = errors.New("enough")

// Each calls do with the objects of a namespace that match a selector, until do returns false. An
// empty namespace selects all namespaces.
func (l Lister[T]) Each(ctx context.Context, namespace string, selector labels.Selector, do func(*T) (more bool)) error {
	options := metav1.ListOptions{LabelSelector: selector.String(), Limit: pageSize}
	for {
		list, err := decodePage(ctx, l.of, namespace, options, func(t *T) error {
			if !do(t) {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) || err == nil && list.Continue == "" {
			return nil
		}
		if err != nil {
			return err
		}
		options.Continue = list.Continue
	}
}

// decodePage requests a part of a list, and calls each with every object before it reads the next one.
func decodePage[T any](ctx context.Context, of endpoint, namespace string, options metav1.ListOptions, each func(*T) error) (metav1.ListMeta, error) {
	stream, err := of.stream(ctx, namespace, options)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = stream.Close() }()
	meta, err := decodeList(stream, each)
	if err != nil {
		return meta, fmt.Errorf("decode the list of %s: %w", of.resource.GroupResource(), err)
	}
	return meta, nil
}

// decodeList decodes a list. It calls each with every item before it reads the next one, until each
// returns an error.
func decodeList[T any](stream io.Reader, each func(*T) error) (meta metav1.ListMeta, err error) {
	d := stdjson.NewDecoder(stream)
	var raw stdjson.RawMessage // reused
	err = members(d, func(name string) error {
		switch name {
		case "metadata":
			return d.Decode(&meta)
		case "items":
			return items(d, func() error {
				if err := d.Decode(&raw); err != nil {
					return err
				}
				item, err := decodeObject[T](raw)
				if err != nil {
					return err
				}
				return each(item)
			})
		}
		return d.Decode(&Skip{})
	})
	return meta, err
}

// members calls each after the name of every member of an object.
func members(d *stdjson.Decoder, each func(name string) error) error {
	return composite(d, '{', func() error {
		name, err := d.Token()
		if err != nil {
			return err
		}
		return each(fmt.Sprint(name))
	})
}

// items calls each before every item of an array. Null counts as an empty array.
func items(d *stdjson.Decoder, each func() error) error { return composite(d, '[', each) }

func composite(d *stdjson.Decoder, begin stdjson.Delim, each func() error) error {
	switch token, err := d.Token(); {
	case err != nil:
		return err
	case token == nil && begin == '[':
		return nil
	case token != begin:
		return fmt.Errorf("%v in place of %v", token, begin)
	}
	for d.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
