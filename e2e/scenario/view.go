// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// hub is the hub's name in a fleet.
const hub = "hub"

// View watches the objects of a scenario on all clusters of a fleet. It is safe for concurrent use.
type View struct {
	fleet *env.Fleet

	mu      sync.Mutex
	changed chan struct{}
	objects map[place]client.Object
}

// place identifies an object in the fleet.
type place struct {
	cluster, kind string
	key           client.ObjectKey
}

// Watch returns a view that is current until ctx ends.
func Watch(ctx context.Context, fleet *env.Fleet) (*View, error) {
	v := &View{fleet: fleet, changed: make(chan struct{}), objects: map[place]client.Object{}}
	scheme, err := env.Scheme()
	if err != nil {
		return nil, err
	}
	for _, c := range append([]*env.Cluster{fleet.Hub}, fleet.Managed...) {
		kinds := []client.Object{&argocd.Application{}}
		switch {
		case c == fleet.Hub:
			kinds = append(kinds, &workv1.ManifestWork{}, &v1alpha1.MulticlusterApplicationSetReport{})
		case fleet.Rendered(): // the clusters of rendered mode have no Applications
			kinds = []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}}
		}
		watching, err := cache.New(c.Config, cache.Options{Scheme: scheme})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", c.Name, err)
		}
		go func() { _ = watching.Start(ctx) }() // it ends only with ctx
		for _, kind := range kinds {
			if err := v.observe(ctx, c.Name, watching, kind); err != nil {
				return nil, fmt.Errorf("watch %T on %s: %w", kind, c.Name, err)
			}
		}
	}
	return v, nil
}

func (v *View) observe(ctx context.Context, cluster string, watching cache.Cache, kind client.Object) error {
	informer, err := watching.GetInformer(ctx, kind)
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { v.put(cluster, o) },
		UpdateFunc: func(_, o any) { v.put(cluster, o) },
		DeleteFunc: func(o any) { v.drop(cluster, o) },
	})
	return err
}

func (v *View) put(cluster string, object any) {
	if o, ok := object.(client.Object); ok {
		v.change(func() { v.objects[placeOf(cluster, o)] = o })
	}
}

func (v *View) drop(cluster string, object any) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if o, ok := object.(client.Object); ok {
		v.change(func() { delete(v.objects, placeOf(cluster, o)) })
	}
}

func placeOf(cluster string, o client.Object) place {
	return place{cluster: cluster, kind: fmt.Sprintf("%T", o), key: client.ObjectKeyFromObject(o)}
}

// change calls do and wakes up all waiters.
func (v *View) change(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
	close(v.changed)
	v.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of an object.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// Await calls what after every change until it holds, and returns when that was first observed. saw describes
// the state.
func (v *View) Await(ctx context.Context, name string, what func() (holds bool, saw string)) (time.Time, error) {
	return v.await(ctx, name, 0, what)
}

func (v *View) await(ctx context.Context, name string, rest time.Duration, what func() (holds bool, saw string)) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, env.Patience, fmt.Errorf("not within %s", env.Patience))
	defer cancel()
	now := time.NewTicker(time.Second) // for state that is not watched
	defer now.Stop()
	for {
		changed := v.Changed()
		rested := time.After(rest)
		holds, saw := what()
		if holds {
			return time.Now(), nil
		}
		select {
		case <-changed:
			<-rested
		case <-now.C:
		case <-v.fleet.Processes.Context().Done():
			return time.Time{}, errors.Join(fmt.Errorf("wait for %s; last seen: %s", name, saw), v.fleet.Processes.Err())
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for %s: %w; last seen: %s", name, context.Cause(ctx), saw)
		}
	}
}

// askAgain is the shortest time between two checks of [View.Expect].
const askAgain = 100 * time.Millisecond

// Expect is [View.Await] in a test, and fails the test if what never holds. what may call API servers,
// because Expect calls it once for a burst of changes.
func (v *View) Expect(t testing.TB, name string, what func() (holds bool, saw string)) {
	t.Helper()
	if _, err := v.await(t.Context(), name, askAgain, what); err != nil {
		t.Fatal(err)
	}
}
