// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// ensureAddOn creates or updates the add-on and its registrations. taken names another client that
// owns an object of that name.
func (f *Fleet) ensureAddOn(ctx context.Context, w agent.Desired) (a *addonv1alpha1.ManagedClusterAddOn, taken string, err error) {
	want := agent.AddOn(w)
	if a, err = find(ctx, f, w.Cluster, agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{}); err != nil {
		return nil, "", err
	}
	switch {
	case a == nil:
		if err := f.client.Create(ctx, want, client.FieldOwner(fieldOwner)); err != nil {
			return nil, "", fmt.Errorf("create ManagedClusterAddOn %s/%s: %w", want.Namespace, want.Name, err)
		}
		ctrl.LoggerFrom(ctx).Info("created the add-on of argocd-agent", "cluster", w.Cluster)
		a = want
	case foreign(a) != "":
		return nil, foreign(a), nil
	case !a.DeletionTimestamp.IsZero():
		return nil, "", fmt.Errorf("ManagedClusterAddOn %s/%s is being deleted", a.Namespace, a.Name)
	case !same(a, want):
		if err := f.patch(ctx, a, map[string]any{"metadata": metadata(want), "spec": map[string]any{"installNamespace": agent.InstallNamespace(want)}}); err != nil {
			return nil, "", err
		}
	}
	return a, "", f.register(ctx, a, w)
}

// register sets the add-on's status that the registration agent reads.
func (f *Fleet) register(ctx context.Context, a *addonv1alpha1.ManagedClusterAddOn, w agent.Desired) error {
	if registered(a, w) {
		return nil
	}
	return f.patchStatus(ctx, a, map[string]any{"namespace": w.AgentNamespace, "registrations": agent.Registrations(w), "healthCheck": agent.HealthCheck()})
}

func registered(a *addonv1alpha1.ManagedClusterAddOn, w agent.Desired) bool {
	return a.Status.Namespace == w.AgentNamespace && equality.Semantic.DeepEqual(a.Status.Registrations, agent.Registrations(w)) &&
		a.Status.HealthCheck == agent.HealthCheck()
}

func same(a, want *addonv1alpha1.ManagedClusterAddOn) bool {
	return carries(a, want) && agent.InstallNamespace(a) == agent.InstallNamespace(want)
}

// report writes the add-on's condition, and returns the state that it was made of.
func (f *Fleet) report(ctx context.Context, a *addonv1alpha1.ManagedClusterAddOn, s agent.State) (agent.State, error) {
	want, said := agent.Available(s)
	if !said {
		return s, nil
	}
	if conditions := slices.Clone(a.Status.Conditions); !meta.SetStatusCondition(&conditions, want) {
		return s, nil
	}
	// The patch replaces all conditions, and the cache has only those that are read.
	stored, err := findLive(ctx, f, a.Namespace, a.Name, &addonv1alpha1.ManagedClusterAddOn{})
	if err != nil || stored == nil || !meta.SetStatusCondition(&stored.Status.Conditions, want) {
		return s, err
	}
	return s, f.patchStatus(ctx, stored, map[string]any{"conditions": stored.Status.Conditions})
}

// carries reports whether an object has the labels and annotations that it should.
func carries(o, want client.Object) bool {
	return has(o.GetLabels(), want.GetLabels()) && has(o.GetAnnotations(), want.GetAnnotations())
}

func has(all, some map[string]string) bool {
	for key, value := range some {
		if v, found := all[key]; !found || v != value {
			return false
		}
	}
	return true
}

func metadata(o client.Object) map[string]any {
	return map[string]any{"labels": maps.Clone(o.GetLabels()), "annotations": maps.Clone(o.GetAnnotations())}
}

// patch changes the observed version of an object. After a conflict the caller decides again.
func (f *Fleet) patch(ctx context.Context, o client.Object, change map[string]any) error {
	data, err := conditional(o, change)
	if err != nil {
		return err
	}
	if err := f.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, data), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patch %s %s/%s: %w", kind(o), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

func (f *Fleet) patchStatus(ctx context.Context, o client.Object, change map[string]any) error {
	data, err := conditional(o, map[string]any{"status": change})
	if err != nil {
		return err
	}
	if err := f.client.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, data), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patch the status of %s %s/%s: %w", kind(o), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

func conditional(o client.Object, change map[string]any) ([]byte, error) {
	m, _ := change["metadata"].(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	m["resourceVersion"] = o.GetResourceVersion()
	change["metadata"] = m
	return json.Marshal(change)
}
