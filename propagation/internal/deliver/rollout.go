// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// rollout returns the rollout of an Application's ApplicationSet from the cache, nil for none.
func (f *gatherer) rollout(ctx context.Context, app *argocd.Application) (*rollout.ApplicationSetRollout, error) {
	set := app.OwningApplicationSet()
	if !f.options.Rollouts || set == "" {
		return nil, nil
	}
	var list rollout.ApplicationSetRolloutList
	if err := f.client.List(ctx, &list, client.InNamespace(app.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ApplicationSetRollouts in %s: %w", app.Namespace, err)
	}
	return rollout.Governing(list.Items, app.Namespace, set), nil
}

// rolled returns what is to be delivered under a rollout: the Application as the work may
// carry it, and what is to be noted on the work. held is not nil when it stays as it is.
func (r *Reconciler) rolled(ctx context.Context, w policy.Inputs, current *manifestcache.Cached) (_ policy.Inputs, snapshot string, held *delivery, err error) {
	d := policy.DecideRollout(w, current)
	hold := func(d policy.RolloutDecision) *delivery {
		return &delivery{state: progressWaiting, decision: d.Hold()}
	}
	switch {
	case d.Act == policy.RolloutHold:
		return w, "", hold(d), nil
	case d.Act == policy.RolloutDeliver && !d.Changes:
		w.Carried = d.Carried
		return w, "", nil, nil
	}
	stored, err := r.storedWork(ctx, current)
	if err != nil {
		return w, "", nil, err
	}
	if d.Act == policy.RolloutRestore {
		was, content := payload.Promoted(w.Application, stored, d.Number, d.Stored)
		if was == nil {
			d.Waits += "; what the ManifestWork carried before is not noted on it, so it stays as it is"
			return w, "", hold(d), nil
		}
		d.Carried.Content, w.Application, w.Carried = content, was, d.Carried
		w.Project, err = r.projectOf(ctx, w, was)
		return w, "", nil, err
	}
	w.Carried = d.Carried
	if snapshot, err = payload.Snapshot(stored, d.Number); err != nil {
		d.Waits = "not delivered under a rollout: " + err.Error()
		return w, "", hold(d), nil //nolint:nilerr // the Application's author can mend it
	}
	return w, snapshot, nil, nil
}

// projectOf returns the AppProject that travels with an Application as it was.
func (f *gatherer) projectOf(ctx context.Context, w policy.Inputs, was *argocd.Application) (*argocd.AppProject, error) {
	if !f.options.Project || payload.ProjectName(was) == argocd.DefaultProject {
		return nil, nil
	}
	if payload.ProjectName(was) == payload.ProjectName(w.Application) {
		return w.Project, nil
	}
	return f.project(ctx, f.client, was)
}

// watchRollouts has those Applications looked at whose works may carry something else.
func (wa *watcher) watchRollouts(b *builder.Builder) *builder.Builder {
	if !wa.options.Rollouts {
		return b
	}
	none := &rollout.ApplicationSetRollout{}
	return b.Watches(&rollout.ApplicationSetRollout{}, handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.enqueueRollout(ctx, none, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.enqueueRollout(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.enqueueRollout(ctx, e.Object, none, q)
		},
	})
}

func (wa *watcher) enqueueRollout(ctx context.Context, before, after client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	was, ok := before.(*rollout.ApplicationSetRollout)
	is, ok2 := after.(*rollout.ApplicationSetRollout)
	if !ok || !ok2 {
		return
	}
	r := is
	if r.Name == "" {
		r = was
	}
	var apps argocd.ApplicationList
	if err := wa.client.List(ctx, &apps, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "namespace", r.Namespace)
		return
	}
	for i := range apps.Items {
		app := &apps.Items[i]
		if app.OwningApplicationSet() != r.Spec.ApplicationSet {
			continue
		}
		cluster := app.Annotations[contract.ClusterAnnotation]
		if is.Status.Phase != was.Status.Phase || !was.Status.Grant(cluster).Same(is.Status.Grant(cluster)) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		}
	}
}
