// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// withdrawal is the works that a reconcile wants to delete.
type withdrawal struct {
	app    types.NamespacedName
	works  []manifestcache.Cached
	reason string
	// uncounted: the guard is not asked, since nobody loses anything by it, or the user
	// has given it up.
	uncounted bool
	// confirm reads again, from the API server, what the withdrawal rests on; nil: it has
	// been read.
	confirm func(context.Context) (bool, error)
}

// withdraw deletes works as they were seen: one that has changed since is looked
// at again. Every withdrawal passes through here, and so through the guard. It returns
// what is kept and what waits for its agent; the guard sends the Application round again
// for what it keeps.
func (r *Reconciler) withdraw(ctx context.Context, w withdrawal) (o outcome, err error) {
	app, err := r.application(ctx, w.app)
	if err != nil {
		return o, err
	}
	var free []*manifestcache.Cached
	for i := range w.works {
		work := &w.works[i]
		if work.DeletionTimestamp != nil {
			continue
		}
		may, err := r.mayGo(ctx, w, app, work)
		if err != nil {
			return o, err
		}
		if !may {
			o.held = true
			continue
		}
		free = append(free, work)
	}
	if len(free) == 0 {
		return o, nil
	}
	if w.confirm != nil {
		if yes, err := w.confirm(ctx); err != nil || !yes {
			return outcome{held: true}, err
		}
	}
	for _, work := range free {
		e, err := r.endingOf(ctx, app, work)
		if err != nil {
			return o, err
		}
		if e.waits {
			o.pending, o.problem = append(o.pending, *work), cmp.Or(o.problem, e.problem)
			continue
		}
		err = r.client.Delete(ctx, work.DeepCopy(), client.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return o, fmt.Errorf("delete ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
		}
		worksWithdrawn.WithLabelValues(w.reason).Inc()
		ctrl.LoggerFrom(ctx).Info("withdrew ManifestWork", "cluster", work.Namespace, "work", work.Name, "reason", w.reason, "stays", e.stays)
	}
	return o, nil
}

// mayGo reports whether neither a pause nor the guard keeps a work. app is nil when it is
// gone.
func (r *Reconciler) mayGo(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Cached) (bool, error) {
	p, err := r.pauseOn(ctx, app, groupOf(work), work.Namespace)
	if err != nil || p.Word != "" {
		return false, err
	}
	counted, err := r.counted(ctx, w, app, work)
	if err != nil || !counted {
		return err == nil, err
	}
	return r.withdrawals.note(w.app, work, true, revokes(w.reason), r.now()), nil
}

// counted reports whether the guard is asked about a work. It is not when the cluster
// is leaving: OCM removes its works whatever we do. A cluster that is not there at all
// may only have not been restored yet. Where what is delivered stays, nothing is lost by
// the end of the work: only the word of an operator keeps that.
func (r *Reconciler) counted(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Cached) (bool, error) {
	if w.uncounted {
		return false, nil
	}
	stays, err := r.stays(ctx, app, work)
	if err != nil {
		return false, err
	}
	if stays {
		d, err := r.decisionOn(ctx, groupOf(work), revokes(w.reason))
		return d.Word == guard.Hold || d.Word == guard.Undo, err
	}
	cluster, err := getCluster(ctx, r.client, work.Namespace)
	return cluster == nil || cluster.DeletionTimestamp == nil, err
}

// foresee tells the guard of works that will have to be withdrawn unless something
// comes back in time, so that it sees the whole damage when the first has to.
func (r *Reconciler) foresee(app types.NamespacedName, works []manifestcache.Cached) {
	for i := range works {
		if works[i].DeletionTimestamp == nil && works[i].Annotations[contract.OnWithdrawAnnotation] == "" {
			r.withdrawals.note(app, &works[i], false, false, r.now())
		}
	}
}
