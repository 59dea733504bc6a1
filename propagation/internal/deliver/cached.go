// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// cacheReader reads from the caches and their indexes. Its results belong to the cache.
type cacheReader struct {
	cache client.Reader
	index *manifestcache.Index
	// direct reads from the API server. It serves the data that the cache does not keep.
	direct  client.Reader
	options Options
}

// Get implements [reader]. An Application has its spec.
func (c *cacheReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := c.cache.Get(ctx, key, o, options...)
	app, is := o.(*argocd.Application)
	if err != nil || !is {
		return err
	}
	whole, err := appcache.Whole(ctx, c.direct, app, c.options.SizeLimit)
	if err == nil {
		*app = *whole
	}
	return err
}

// Bound implements [reader].
func (c *cacheReader) Bound(ctx context.Context, namespace, cluster string) (bool, error) {
	decisions, err := listDecisions(ctx, c.cache, namespace, client.MatchingFields{decisionsByCluster: cluster})
	return selects(decisions, cluster), err
}

// Works implements [reader].
func (c *cacheReader) Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error) {
	works, err := c.index.Of(key)
	if err != nil {
		return nil, err
	}
	if app != nil { // own works that an agent has changed to name another Application
		for _, name := range payload.WorkNames(app) {
			work, err := c.index.Named(app.Annotations[contract.ClusterAnnotation], name)
			if err != nil {
				return nil, err
			}
			if work != nil && !slices.Contains(works, work) {
				works = append(works, work)
			}
		}
	}
	found := make([]foundWork, 0, len(works))
	for _, work := range works {
		is, others, err := relationOf(ctx, c.cache, app, work)
		if err != nil {
			return nil, err
		}
		if !others {
			found = append(found, foundWork{Work: work, Relation: is})
		}
	}
	return found, nil
}

// Rivals implements [reader]. If the cache has no copy of a rival, it asks the API server, because
// the copy may have been created a moment ago.
func (c *cacheReader) Rivals(ctx context.Context, app *argocd.Application) (found foundRivals, err error) {
	cluster, identity := app.Annotations[contract.ClusterAnnotation], payload.DeliveredName(app)
	if found.Copies, err = c.index.Delivering(cluster, identity); err != nil {
		return found, err
	}
	desiring, err := applicationsWanting(ctx, c.cache, cluster, identity)
	if err != nil {
		return found, err
	}
	for _, rival := range desiring {
		key := client.ObjectKeyFromObject(rival)
		if key == client.ObjectKeyFromObject(app) {
			continue
		}
		found.Applications = append(found.Applications, rival)
		if slices.ContainsFunc(found.Copies, func(w *manifestcache.Work) bool { claimant, _ := w.Claimant(); return claimant == key }) {
			continue
		}
		live, err := readObject(ctx, c.direct, types.NamespacedName{Namespace: cluster, Name: payload.WorkNames(rival)[0]}, &workv1.ManifestWork{})
		if err != nil {
			return found, err
		}
		if live != nil && payload.DeliveredBy(&live.Spec) == identity {
			found.Copies = append(found.Copies, appcache.Compact(live))
		}
	}
	return found, nil
}

// Agent implements [reader].
func (c *cacheReader) Agent(ctx context.Context, name string) (bool, error) {
	return anyAgent(ctx, c.cache, c.options.AgentNamespaces, name, &corev1.SecretList{}, client.MatchingFields{secretsByAgent: name})
}

// relationOf returns how a work relates to an Application. app is nil if the Application does not
// exist. others is true if the work is proven to belong to another Application. The name of a work
// may prove two owners, because it has five digits of a UID. Then the work belongs to the one that
// it names. No agent can rename a work, so it can only choose between Applications with a proof.
func relationOf(ctx context.Context, cache client.Reader, app *argocd.Application, work *manifestcache.Work) (is decide.Relation, others bool, err error) {
	if is = provenRelation(app, work); is != decide.Leftover {
		named, _ := work.Claimant()
		if named == client.ObjectKeyFromObject(app) {
			return is, false, nil
		}
		other, err := readObject(ctx, cache, named, &argocd.Application{})
		return is, provenRelation(other, work) != decide.Leftover, err
	}
	var list argocd.ApplicationList
	if err := cache.List(ctx, &list, client.MatchingFields{applicationsByCluster: work.Namespace}, client.UnsafeDisableDeepCopy); err != nil {
		return decide.Leftover, false, fmt.Errorf("list Applications of cluster %s: %w", work.Namespace, err)
	}
	for i := range list.Items {
		if contract.IsPulled(list.Items[i].Labels) && slices.Contains(payload.WorkNames(&list.Items[i]), work.Name) {
			return decide.Leftover, true, nil
		}
	}
	return decide.Leftover, false, nil
}

// provenRelation returns the relation between a work and an Application that the Application alone
// proves. app may be nil.
func provenRelation(app *argocd.Application, work *manifestcache.Work) decide.Relation {
	switch {
	case app == nil:
		return decide.Leftover
	case payload.IsOwnWork(app, work):
		return decide.Own
	case payload.Delivers(app, work):
		return decide.Adoptable
	}
	return decide.Leftover
}

// applicationsWanting returns the cached Applications that ask for an identity on a cluster.
func applicationsWanting(ctx context.Context, cache client.Reader, cluster string, identity types.NamespacedName) ([]*argocd.Application, error) {
	var list argocd.ApplicationList
	if err := cache.List(ctx, &list, client.MatchingFields{applicationsByIdentity: identityKey(cluster, identity)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Applications that want to be %s on cluster %s: %w", identity, cluster, err)
	}
	found := make([]*argocd.Application, 0, len(list.Items)+1)
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	same, err := readObject(ctx, cache, identity, &argocd.Application{})
	if err != nil {
		return nil, err
	}
	if same != nil && desires(same, cluster, identity) {
		found = append(found, same)
	}
	return found, nil
}

// desires reports whether an Application requests an identity on a cluster.
func desires(app *argocd.Application, cluster string, identity types.NamespacedName) bool {
	return contract.IsPulled(app.Labels) && app.Annotations[contract.ClusterAnnotation] == cluster && payload.DeliveredName(app) == identity
}

// namespacesNaming returns the function for [sources]: the namespaces of the pulled Applications on
// a cluster that name an AppProject and are not being deleted.
func namespacesNaming(cache client.Reader) func(ctx context.Context, cluster, project string) ([]string, error) {
	return func(ctx context.Context, cluster, project string) (namespaces []string, err error) {
		var list argocd.ApplicationList
		if err := cache.List(ctx, &list, client.MatchingFields{applicationsByCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list Applications of cluster %s: %w", cluster, err)
		}
		for i := range list.Items {
			app := &list.Items[i]
			if contract.IsPulled(app.Labels) && app.DeletionTimestamp == nil && payload.ProjectName(app) == project {
				namespaces = append(namespaces, app.Namespace)
			}
		}
		return namespaces, nil
	}
}
