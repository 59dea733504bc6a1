// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// reconcileDelete withdraws a deleted Application and lets it go once no managed cluster
// has it any more, or at once when the user has given that up.
func (r *Reconciler) reconcileDelete(ctx context.Context, app *argocd.Application, works []*manifestcache.Work) (result, error) {
	c, err := r.copiesOf(ctx, app, works)
	if err != nil {
		return result{}, err
	}
	if !mustRelease(app) && len(c.proven) == 0 {
		return result{silent: true}, nil
	}
	abandon := policy.ParseDeletionPolicy(app.Annotations[contract.DeletionPolicyAnnotation], "", false).Abandon
	key := client.ObjectKeyFromObject(app)
	o, err := r.withdraw(ctx, withdrawal{app: key, works: c.all, reason: policy.ReasonDeleting, abandoned: abandon})
	if err != nil {
		return result{}, err
	}
	o = o.of(c.proven)
	res := result{silent: true, after: o.after}
	kept := slices.DeleteFunc(slices.Clone(app.Finalizers), isArgoFinalizer)
	if len(kept) == len(app.Finalizers) {
		return res, nil // nothing of Argo CD's holds it
	}
	if _, held := r.budget.Held(key); held {
		d, err := r.decisionOn(ctx, ownerOf(app, nil), false)
		if err != nil {
			return result{}, err
		}
		if d.Word == decide.Undo {
			ctrl.LoggerFrom(ctx).Info("released a deleted Application without withdrawing it", "decision", d.On)
			return res, r.release(ctx, app, kept)
		}
	}
	switch {
	case abandon && !o.done() && !o.held && o.problem == "": // only agents are waited for
		r.recordOrphansPending(ctx, app, o.pending)
		return res, r.release(ctx, app, kept)
	case !o.done():
		return r.notWithdrawn(app, c, o, policy.Decision{Refusal: policy.Message{Reason: policy.ReasonDeleting}}), nil
	case abandon:
		if err := r.recordAbandoned(ctx, app, c.proven); err != nil {
			return result{}, err
		}
		return res, r.release(ctx, app, kept)
	}
	return r.awaitProof(ctx, app, c.proven, kept)
}

// awaitProof lets a deleted Application go once its clusters have proven that nothing of it
// is left.
func (r *Reconciler) awaitProof(ctx context.Context, app *argocd.Application, proven []*manifestcache.Work, kept []string) (result, error) {
	remaining, err := r.remaining(ctx, app, proven)
	if err != nil {
		return result{}, err
	}
	if len(remaining) == 0 {
		return result{silent: true}, r.release(ctx, app, kept)
	}
	hint := fmt.Sprintf("if the cluster will not come back, set annotation %s to %s to delete the Application all the same", contract.DeletionPolicyAnnotation, payload.DeletionAbandon)
	return result{after: afterUncached(remaining...), decision: policy.Decision{Severity: policy.SeverityWarning, Refusal: policy.Message{Reason: policy.ReasonDeleting, Text: fmt.Sprintf(
		"not deleted yet: waiting for %s to confirm that nothing of it is left; %s", strings.Join(places(remaining), ", "), hint)}}}, nil
}

// mustRelease reports whether propagation alone can release a deleted Application: it is pulled,
// or it names a cluster and keeps the hub's own Argo CD off.
func mustRelease(app *argocd.Application) bool {
	return contract.IsPulled(app.Labels) || app.Annotations[contract.ClusterAnnotation] != "" && argocd.SkipsReconcile(app.Annotations)
}

// remaining returns the works that still stand for something on a managed cluster:
// those that are there while their ManagedCluster is, be it on its way out.
func (r *Reconciler) remaining(ctx context.Context, app *argocd.Application, works []*manifestcache.Work) (list []*manifestcache.Work, err error) {
	there := map[string]bool{}
	for _, work := range works {
		cluster := work.Namespace
		if _, known := there[cluster]; !known {
			c, err := getCluster(ctx, r.live, cluster)
			if err != nil {
				return nil, err
			}
			there[cluster] = c != nil
		}
		if there[cluster] {
			list = append(list, work)
		}
	}
	if len(works) > 0 {
		return list, nil
	}
	// The cache knows of none, which proves nothing about the last second.
	list, err = r.uncachedWorks(ctx, app)
	if err != nil {
		return nil, err
	}
	_, err = r.withdraw(ctx, withdrawal{app: client.ObjectKeyFromObject(app), works: list, reason: policy.ReasonDeleting})
	return list, err
}

// uncachedWorks returns works that exist although the cache does not have them: it has not
// seen them yet, or their pull label is gone.
func (r *Reconciler) uncachedWorks(ctx context.Context, app *argocd.Application) ([]*manifestcache.Work, error) {
	cluster := app.Annotations[contract.ClusterAnnotation]
	if !policy.IsClusterName(cluster) {
		return nil, nil
	}
	lost, err := r.unlabelled(ctx, cluster)
	if err != nil {
		return nil, err
	}
	names := payload.WorkNames(app)
	var keys []client.ObjectKey
	for _, name := range names {
		keys = append(keys, client.ObjectKey{Namespace: cluster, Name: name})
	}
	for _, l := range lost {
		if l.app == client.ObjectKeyFromObject(app) && !slices.Contains(keys, l.work) {
			keys = append(keys, l.work)
		}
	}
	var found []*manifestcache.Work
	for _, key := range keys {
		work, err := r.liveWork(ctx, key)
		if err != nil {
			return nil, err
		}
		if work == nil {
			continue
		}
		claimant, named := manifestcache.ClaimantOf(work)
		if named && claimant == client.ObjectKeyFromObject(app) || slices.Contains(names, key.Name) && payload.DeliveredBy(&work.Spec) == payload.DeliveredName(app) {
			found = append(found, appcache.Compact(work))
		}
	}
	return found, nil
}
