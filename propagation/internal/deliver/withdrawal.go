// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
// at again. Every withdrawal passes through here, and so through the guard. It reports
// whether none is left that has to be deleted; the guard sends the Application round
// again for those that have to wait.
func (r *Reconciler) withdraw(ctx context.Context, w withdrawal) (done bool, err error) {
	var free []*manifestcache.Cached
	done = true
	for i := range w.works {
		work := &w.works[i]
		if work.DeletionTimestamp != nil {
			continue
		}
		paused, err := r.pausedWork(ctx, w.app, work)
		if err != nil {
			return false, err
		}
		if paused {
			done = false
			continue
		}
		counted, err := r.counted(ctx, w, work)
		if err != nil {
			return false, err
		}
		if counted && !r.withdrawals.note(w.app, work, true, r.now()) {
			done = false
			continue
		}
		free = append(free, work)
	}
	if len(free) == 0 {
		return done, nil
	}
	if w.confirm != nil {
		if yes, err := w.confirm(ctx); err != nil || !yes {
			return false, err
		}
	}
	for _, work := range free {
		err := r.client.Delete(ctx, work.DeepCopy(), client.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("delete ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
		}
		worksWithdrawn.WithLabelValues(w.reason).Inc()
		ctrl.LoggerFrom(ctx).Info("withdrew ManifestWork", "cluster", work.Namespace, "work", work.Name, "reason", w.reason)
	}
	return done, nil
}

// pausedWork reports whether a work stays as it is, whatever becomes of its Application.
func (r *Reconciler) pausedWork(ctx context.Context, key types.NamespacedName, work *manifestcache.Cached) (bool, error) {
	app, err := r.application(ctx, key)
	if err != nil {
		return false, err
	}
	p, err := r.pauseOn(ctx, app, groupOf(work), work.Namespace)
	return p.Word != "", err
}

// counted reports whether the guard is asked about a work. It is not when the cluster
// is leaving: OCM removes its works whatever we do. A cluster that is not there at all
// may only have not been restored yet.
func (r *Reconciler) counted(ctx context.Context, w withdrawal, work *manifestcache.Cached) (bool, error) {
	if w.uncounted || work.Annotations[contract.ObservedAnnotation] != "" {
		return false, nil
	}
	cluster, err := getCluster(ctx, r.client, work.Namespace)
	return cluster == nil || cluster.DeletionTimestamp == nil, err
}

// foresee tells the guard of works that will have to be withdrawn unless something
// comes back in time, so that it sees the whole damage when the first has to.
func (r *Reconciler) foresee(app types.NamespacedName, works []manifestcache.Cached) {
	for i := range works {
		if works[i].DeletionTimestamp == nil {
			r.withdrawals.note(app, &works[i], false, r.now())
		}
	}
}
