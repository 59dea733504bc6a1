// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pagetest has artificial fleets for the tests of the page, its benchmark and its pictures.
package pagetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Row describes an Application of an ApplicationSet.
type Row struct {
	Name, Cluster, Health, Sync, Revision, Phase string
	Started                                      time.Time
	Conditions                                   []v1alpha1.Condition
}

// App returns the Application of a row. It is healthy and synced unless the row has other values.
func App(set types.NamespacedName, r Row) *model.App {
	a := &model.App{Conditions: r.Conditions, AppFields: model.AppFields{
		Namespace: set.Namespace, Name: r.Name, Set: set.Name, Cluster: r.Cluster, Work: r.Name + "-1a2b3",
		Health: cmp.Or(r.Health, "Healthy"), Sync: cmp.Or(r.Sync, "Synced"), Revision: r.Revision, Phase: r.Phase,
		Stale: slices.ContainsFunc(r.Conditions, func(c v1alpha1.Condition) bool { return c.Type == model.Unreachable }),
	}}
	if !r.Started.IsZero() {
		a.Started = r.Started.UTC().Format(time.RFC3339)
	}
	return a
}

// Undelivered returns an Application with a state.
func Undelivered(f model.AppFields) *model.App {
	f.Health, f.Sync = cmp.Or(f.Health, "Unknown"), cmp.Or(f.Sync, "Unknown")
	return &model.App{AppFields: f}
}

// Available returns an available ManagedCluster.
func Available(name string) model.Cluster {
	return model.Cluster{Cluster: status.Cluster{Name: name, Exists: true, Available: true}}
}

// Remove removes all Applications of an ApplicationSet.
func Remove(f *model.Fleet, set types.NamespacedName, now time.Time) {
	if s := f.View(now.Add(model.Interval)).Overview(model.Rights{All: true}).Set(set); s != nil {
		for _, a := range s.Rows {
			f.Delete(a.Key())
		}
	}
}

// Resources returns the resources of every ApplicationSet.
func Resources(context.Context, types.NamespacedName) ([]v1alpha1.ResourceRef, error) {
	return []v1alpha1.ResourceRef{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "app", Name: "app"},
		{APIVersion: "v1", Kind: "Service", Namespace: "app", Name: "app"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "app", Name: "settings"},
	}, nil
}

// Tokens is an Identity with fixed tokens and the namespaces that they may see. nil means all.
type Tokens struct {
	mu  sync.Mutex
	all map[string][]string
	// err is the result of every call, unless it is nil.
	err error
}

// NewTokens returns an Identity.
func NewTokens(all map[string][]string) *Tokens { return &Tokens{all: maps.Clone(all)} }

// Fail makes every call return an error. nil ends that.
func (t *Tokens) Fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// Revoke removes a token.
func (t *Tokens) Revoke(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, token)
}

// Known implements Identity of package server.
func (t *Tokens) Known(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.all[token]
	return ok
}

// Authenticate implements Identity. The name of the viewer is the token.
func (t *Tokens) Authenticate(_ context.Context, token string) (*access.Viewer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	if _, ok := t.all[token]; !ok {
		return nil, access.ErrUnknown
	}
	return &access.Viewer{Name: token}, nil
}

// Rights implements Identity. Like a review, it only returns existing namespaces.
func (t *Tokens) Rights(_ context.Context, v *access.Viewer, existing []string) (model.Rights, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return model.Rights{}, fmt.Errorf("review rights: %w", t.err)
	}
	namespaces, ok := t.all[v.Name]
	return model.Rights{All: ok && namespaces == nil, Namespaces: slices.DeleteFunc(slices.Clone(existing), func(n string) bool { return !slices.Contains(namespaces, n) })}, nil
}
