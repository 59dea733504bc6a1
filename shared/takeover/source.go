// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kind is a kind of objects to follow.
type Kind struct {
	Object client.Object
	// Concerns returns what is to be reconciled when an object of the kind changes, and
	// whether anything is.
	Concerns func(metav1.Object) (types.NamespacedName, bool)
}

// Itself is for Kind.Concerns: an object of the controller's own kind.
func Itself(o metav1.Object) (types.NamespacedName, bool) {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, true
}

// Source follows kinds in a cache, from now on and until a controller that watches the
// source starts. That controller then begins with what changed lately: its
// queue has what is there at start with a lower priority.
func Source(ctx context.Context, c cache.Cache, kinds ...Kind) (source.Source, error) {
	changes := &Changes{}
	var unfollow []func() error
	for _, kind := range kinds {
		informer, err := c.GetInformer(ctx, kind.Object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind.Object, err)
		}
		registration, err := informer.AddEventHandler(changes.handler(kind))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind.Object, err)
		}
		unfollow = append(unfollow, func() error { return informer.RemoveEventHandler(registration) })
	}
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) (err error) {
		for _, key := range changes.Take() {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
		for _, remove := range unfollow {
			err = errors.Join(err, remove())
		}
		return err
	}), nil
}

// handler notes changes of a kind, but not what was there before.
func (c *Changes) handler(kind Kind) toolscache.ResourceEventHandler {
	note := func(object any) {
		if gone, lost := object.(toolscache.DeletedFinalStateUnknown); lost {
			object = gone.Obj
		}
		if o, ok := object.(metav1.Object); ok {
			if key, ok := kind.Concerns(o); ok {
				c.Note(key)
			}
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if !isInInitialList {
				note(object)
			}
		},
		UpdateFunc: func(_, object any) { note(object) },
		DeleteFunc: note,
	}
}
