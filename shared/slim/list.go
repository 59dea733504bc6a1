// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"io"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/json"
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

// decodeList decodes a list. It calls each with every item before it reads the next one.
func decodeList[T any](stream io.Reader, each func(*T)) (meta metav1.ListMeta, err error) {
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
				item := new(T)
				if err := json.UnmarshalCaseSensitivePreserveInts(raw, item); err != nil {
					return err
				}
				each(item)
				return nil
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
