// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// View watches what the story is about, on all clusters of a fleet. It is safe
// for concurrent use.
type View struct {
	fleet  *env.Fleet
	caches map[string]cache.Cache

	mu      sync.Mutex
	changed chan struct{}
}

// Watch returns a view that is current until ctx ends.
func Watch(ctx context.Context, fleet *env.Fleet) (*View, error) {
	v := &View{fleet: fleet, caches: map[string]cache.Cache{}, changed: make(chan struct{})}
	scheme, err := env.Scheme()
	if err != nil {
		return nil, err
	}
	for _, c := range append([]*env.Cluster{fleet.Hub}, fleet.Managed...) {
		kinds := []client.Object{&argocd.Application{}}
		if c == fleet.Hub {
			kinds = append(kinds, &workv1.ManifestWork{}, &v1alpha1.MulticlusterApplicationSetReport{})
		}
		watching, err := cache.New(c.Config, cache.Options{Scheme: scheme})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", c.Name, err)
		}
		v.caches[c.Name] = watching
		go func() { _ = watching.Start(ctx) }() // it ends with ctx, and only then
		if err := v.observe(ctx, watching, kinds); err != nil {
			return nil, fmt.Errorf("watch %s: %w", c.Name, err)
		}
	}
	return v, nil
}

func (v *View) observe(ctx context.Context, watching cache.Cache, kinds []client.Object) error {
	for _, kind := range kinds {
		informer, err := watching.GetInformer(ctx, kind)
		if err != nil {
			return err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { v.wake() },
			UpdateFunc: func(any, any) { v.wake() },
			DeleteFunc: func(any) { v.wake() },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Changed returns a channel that is closed at the next change of anything.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

func (v *View) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.changed)
	v.changed = make(chan struct{})
}

// Applications returns the Applications of a cluster, sorted by name.
func (v *View) Applications(cluster string) ([]Application, error) {
	var list argocd.ApplicationList
	if err := v.list(cluster, &list); err != nil {
		return nil, err
	}
	applications := make([]Application, 0, len(list.Items))
	for i := range list.Items {
		applications = append(applications, newApplication(&list.Items[i]))
	}
	sortByName(applications)
	return applications, nil
}

// Application returns one Application of a cluster; ok is false when there is none.
func (v *View) Application(cluster, name string) (a Application, ok bool) {
	applications, err := v.Applications(cluster)
	if err != nil {
		return Application{Conditions: []Condition{{Type: "Unreadable", Message: err.Error()}}}, false
	}
	for _, a := range applications {
		if a.Name == name {
			return a, true
		}
	}
	return Application{}, false
}

// Works returns the ManifestWorks on the hub.
func (v *View) Works() ([]workv1.ManifestWork, error) {
	var list workv1.ManifestWorkList
	err := v.list("hub", &list)
	return list.Items, err
}

// Report returns the report of an ApplicationSet, or nil.
func (v *View) Report(name string) *v1alpha1.MulticlusterApplicationSetReport {
	var list v1alpha1.MulticlusterApplicationSetReportList
	if err := v.list("hub", &list); err != nil {
		return nil
	}
	for i := range list.Items {
		if list.Items[i].Name == name {
			return &list.Items[i]
		}
	}
	return nil
}

func (v *View) list(cluster string, into client.ObjectList) error {
	ctx, cancel := context.WithTimeout(v.fleet.Context(), time.Minute)
	defer cancel()
	return v.caches[cluster].List(ctx, into)
}

// Await waits until what holds and returns when it was first seen to hold. what is
// asked at every change, and says what it saw.
func (v *View) Await(ctx context.Context, name string, what func() (holds bool, saw string)) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, env.Patience, fmt.Errorf("not within %s", env.Patience))
	defer cancel()
	now := time.NewTicker(time.Second) // for what is not watched
	defer now.Stop()
	for {
		changed := v.Changed()
		holds, saw := what()
		if holds {
			return time.Now(), nil
		}
		select {
		case <-changed:
		case <-now.C:
		case <-v.fleet.Context().Done():
			return time.Time{}, errors.Join(fmt.Errorf("wait for %s; last seen: %s", name, saw), context.Cause(v.fleet.Context()))
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for %s: %w; last seen: %s", name, context.Cause(ctx), saw)
		}
	}
}
