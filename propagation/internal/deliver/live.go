// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=get
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// liveReader reads the facts for a removal from the API server. It takes the list of works and
// rivals from the cache, and reads each of these works from the API server.
type liveReader struct {
	api       client.Reader
	cache     *cacheReader
	decisions sharedDecisions
}

// Get implements [reader]. It trims the object as the cache does.
func (l *liveReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := l.api.Get(ctx, key, o, options...); err != nil {
		return err
	}
	switch o := o.(type) {
	case *argocd.Application:
		_, err := manifestcache.TrimApplication(l.cache.options.SizeLimit)(o)
		return err
	case *metav1.PartialObjectMetadata:
		appcache.TrimDecisions(o)
	case *clusterv1.ManagedCluster:
		appcache.TrimCluster(o)
	case *argocd.AppProject:
		o.ManagedFields = nil
	}
	return nil
}

// Bound implements [reader].
func (l *liveReader) Bound(ctx context.Context, namespace, cluster string) (bool, error) {
	decisions, err := l.decisions.list(ctx, l.api, namespace)
	return selects(decisions, cluster), err
}

// Works implements [reader]. It reads each work that the cache lists from the API server. If none
// of them is the Application's own, it reads works by the names that the Application's own works
// have. A deleted Application is released only if none exists.
func (l *liveReader) Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error) {
	listed, err := l.cache.Works(ctx, key, app)
	if err != nil {
		return nil, err
	}
	var keys []types.NamespacedName
	for _, work := range listed {
		keys = append(keys, client.ObjectKeyFromObject(work.Work))
	}
	found, err := l.read(ctx, key, app, keys)
	isOwn := func(w foundWork) bool { return w.Relation != decide.Leftover }
	if err != nil || app == nil || slices.ContainsFunc(found, isOwn) || !policy.IsClusterName(app.Annotations[contract.ClusterAnnotation]) {
		return found, err
	}
	cluster := app.Annotations[contract.ClusterAnnotation]
	var more []types.NamespacedName
	for _, name := range payload.WorkNames(app) {
		if at := (types.NamespacedName{Namespace: cluster, Name: name}); !slices.Contains(keys, at) {
			more = append(more, at)
		}
	}
	further, err := l.read(ctx, key, app, more)
	return append(found, further...), err
}

// read reads the works of an Application. It leaves out works that no longer exist or now belong to
// another Application.
func (l *liveReader) read(ctx context.Context, key types.NamespacedName, app *argocd.Application, keys []types.NamespacedName) ([]foundWork, error) {
	var found []foundWork
	for _, at := range keys {
		live, err := readObject(ctx, l.api, at, &workv1.ManifestWork{})
		if err != nil {
			return nil, err
		}
		if live == nil {
			continue
		}
		work := appcache.Compact(live.DeepCopy()) // the copy keeps the status, which Compact trims
		claimant, named := work.Claimant()
		if app == nil && (!named || claimant != key) {
			continue
		}
		is, others, err := relationOf(ctx, l.cache.cache, app, work)
		if err != nil {
			return nil, err
		}
		if !others && (is != decide.Leftover || named && claimant == key) {
			found = append(found, foundWork{Work: work, Live: live, Relation: is})
		}
	}
	return found, nil
}

// Rivals implements [reader]. It reads the cached rivals and their copies from the API server.
func (l *liveReader) Rivals(ctx context.Context, app *argocd.Application) (foundRivals, error) {
	found, err := l.cache.Rivals(ctx, app)
	if err != nil {
		return found, err
	}
	desiring := make([]*argocd.Application, 0, len(found.Applications))
	for _, rival := range found.Applications {
		live, err := readObject(ctx, l, client.ObjectKeyFromObject(rival), &argocd.Application{})
		if err != nil {
			return found, err
		}
		if live != nil && desires(live, app.Annotations[contract.ClusterAnnotation], payload.DeliveredName(app)) {
			desiring = append(desiring, live)
		}
	}
	found.Applications = desiring
	copies := make([]*manifestcache.Work, 0, len(found.Copies))
	for _, work := range found.Copies {
		if claimant, _ := work.Claimant(); claimant == client.ObjectKeyFromObject(app) {
			continue
		}
		live, err := readObject(ctx, l.api, client.ObjectKeyFromObject(work), &workv1.ManifestWork{})
		if err != nil {
			return found, err
		}
		if live != nil && payload.DeliveredBy(&live.Spec) == payload.DeliveredName(app) {
			copies = append(copies, appcache.Compact(live))
		}
	}
	found.Copies = copies
	return found, nil
}

// Agent implements [reader]. It reads only the metadata of Secrets, and no key.
func (l *liveReader) Agent(ctx context.Context, name string) (bool, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	return anyAgent(ctx, l.api, l.cache.options.AgentNamespaces, name, &list, client.MatchingLabels{argocd.SecretTypeLabel: argocd.SecretTypeCluster, argocd.AgentNameLabel: name})
}
