// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// application returns the cached Application, nil when the cache has none. It is
// borrowed from the cache.
func (f *gatherer) application(ctx context.Context, key client.ObjectKey) (*argocd.Application, error) {
	app := &argocd.Application{}
	err := f.client.Get(ctx, key, app, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Application %s: %w", key, err)
	}
	return app, nil
}

// works returns our ManifestWorks for an Application on all clusters. They are
// borrowed from the cache, which knows of their spec only what it hashes to.
func (f *gatherer) works(key client.ObjectKey) ([]manifestcache.Cached, error) {
	found, err := f.index.Of(key)
	list := make([]manifestcache.Cached, len(found))
	for i, work := range found {
		list[i] = *work.Cached()
	}
	return list, err
}

// inputReader is where the inputs of a decision are read.
type inputReader struct {
	client.Reader
	// indexed: it is the cache, which can look up by index.
	indexed bool
}

func (f *gatherer) cached() inputReader   { return inputReader{f.client, true} }
func (f *gatherer) uncached() inputReader { return inputReader{f.live, false} }

// readInputs reads what a decision rests on.
func (f *gatherer) readInputs(ctx context.Context, from inputReader, app *argocd.Application) (policy.Inputs, error) {
	w := policy.Inputs{Application: app, Bound: f.options.Binding == BindingNone, ArgoCDNamespace: f.options.ArgoCDNamespace, AppNamespaces: f.options.AppNamespaces}
	name := app.Annotations[contract.ClusterAnnotation]
	if !policy.IsClusterName(name) || !contract.IsPulled(app.Labels) {
		return w, nil
	}
	cluster, err := getCluster(ctx, from, name)
	if err != nil {
		return w, err
	}
	w.Cluster = cluster
	if w.OnWithdraw, err = f.onWithdraw(ctx, app, guard.Group{Namespace: app.Namespace, Set: app.OwningApplicationSet()}); err != nil {
		return w, err
	}
	if !w.Bound {
		if w.Bound, err = bound(ctx, from, app.Namespace, name); err != nil {
			return w, err
		}
	}
	if w.HubProject, err = f.project(ctx, from, app); err != nil {
		return w, err
	}
	if err := f.readAgents(ctx, from, &w); err != nil {
		return w, err
	}
	switch {
	case !f.options.Project:
	case payload.ProjectName(app) != argocd.DefaultProject:
		w.Project = w.HubProject
	case from.indexed: // windows are spoken of, nothing rests on them
		w.Windows, err = f.namedProject(ctx, from, argocd.DefaultProject)
	}
	return w, err
}

// getCluster returns nil when there positively is no such ManagedCluster.
func getCluster(ctx context.Context, from client.Reader, name string) (*clusterv1.ManagedCluster, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := from.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
	}
	return cluster, nil
}

// bound reports whether a PlacementDecision in namespace selects cluster.
func bound(ctx context.Context, from inputReader, namespace, cluster string) (bool, error) {
	options := []client.ListOption{client.InNamespace(namespace), client.UnsafeDisableDeepCopy}
	if from.indexed {
		options = append(options, client.MatchingFields{decisionsByCluster: cluster})
	}
	var list clusterv1beta1.PlacementDecisionList
	if err := from.List(ctx, &list, options...); err != nil {
		return false, fmt.Errorf("list PlacementDecisions in %s: %w", namespace, err)
	}
	for i := range list.Items {
		for _, d := range list.Items[i].Status.Decisions {
			if d.ClusterName == cluster {
				return true, nil
			}
		}
	}
	return false, nil
}

// project returns the hub's AppProject that app names, nil when there positively is
// none. The one of an Application in the Argo CD namespace is not read when it
// neither travels nor has a say.
func (f *gatherer) project(ctx context.Context, from client.Reader, app *argocd.Application) (*argocd.AppProject, error) {
	name := payload.ProjectName(app)
	if app.Namespace == f.options.ArgoCDNamespace && (name == argocd.DefaultProject || !f.options.Project) {
		return nil, nil
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, nil // nothing can be called that, and the API server is not asked
	}
	return f.namedProject(ctx, from, name)
}

// namedProject returns the hub's AppProject of a name, nil when there positively is none.
func (f *gatherer) namedProject(ctx context.Context, from client.Reader, name string) (*argocd.AppProject, error) {
	project := &argocd.AppProject{}
	err := from.Get(ctx, client.ObjectKey{Namespace: f.options.ArgoCDNamespace, Name: name}, project, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil // the managed cluster may have its own
	}
	if err != nil {
		return nil, fmt.Errorf("get AppProject %s: %w", name, err)
	}
	return project, nil
}
