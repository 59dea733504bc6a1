// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Reconcile brings one Application's ManifestWork to what the Application, its
// cluster and its namespace's placements ask for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.budget.Begin(req.NamespacedName)
	after, err := r.reconcile(ctx, req)
	r.budget.End(req.NamespacedName, err)
	if err != nil {
		errorsTotal.WithLabelValues(errorKind(err)).Inc()
	}
	if apierrors.IsConflict(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("another client wrote the object first; trying again", "cause", err.Error())
		return ctrl.Result{RequeueAfter: afterConflict}, nil
	}
	return ctrl.Result{RequeueAfter: after}, err
}

// reconcile returns when to look again, 0 for not by the clock.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (time.Duration, error) {
	app, err := r.application(ctx, req.NamespacedName)
	if err != nil {
		return 0, err
	}
	if err := r.restore(ctx, req.NamespacedName, app); err != nil {
		if app == nil || app.DeletionTimestamp != nil || !isRejected(err) {
			return 0, err
		}
		res, _ := notApplied("not delivered", nil, err)
		return res.after, r.complete(ctx, app, res)
	}
	works, err := r.index.Of(req.NamespacedName)
	if err != nil {
		return 0, err
	}
	var res result
	switch {
	case app == nil:
		res, err = r.reconcileMissing(ctx, req.NamespacedName, works)
	case app.DeletionTimestamp != nil:
		res, err = r.reconcileDelete(ctx, app, works)
	default:
		res, err = r.reconcilePresent(ctx, app, works)
	}
	if err != nil {
		return 0, err
	}
	return res.after, r.complete(ctx, app, res)
}

// complete brings the AppProjects of what stays up to date and reports. app is nil, and the
// result silent, when it is gone.
func (r *Reconciler) complete(ctx context.Context, app *argocd.Application, res result) error {
	if err := r.updateProjects(ctx, res.standing); err != nil || res.silent {
		return err
	}
	return r.updateConditions(ctx, app, res.decision)
}

// reconcilePresent delivers, or withdraws, an Application that is there to stay.
func (r *Reconciler) reconcilePresent(ctx context.Context, app *argocd.Application, works []*manifestcache.Work) (result, error) {
	w, err := r.readInputs(ctx, cached(r.client), app)
	if err != nil {
		return result{}, err
	}
	v := policy.Decide(w)
	r.gracePeriods.decided(app, w, v)
	if !v.Deliver {
		return r.withdrawRefused(ctx, app, works, v)
	}
	pause, err := r.pauseOf(ctx, app)
	if err != nil {
		return result{}, err
	}
	if pause.Word != "" {
		return r.pausedDelivery(ctx, w, works, pause, v.Warnings)
	}
	return r.deliver(ctx, w, works, v.Warnings)
}

// deliver makes the hub's ManifestWork the wanted one and withdraws what an earlier
// wish left elsewhere, whatever becomes of the first.
func (r *Reconciler) deliver(ctx context.Context, w policy.Inputs, works []*manifestcache.Work, warnings []policy.Message) (result, error) {
	c, err := r.copiesOf(ctx, w.Application, works)
	if err != nil {
		return result{}, err
	}
	res, failed := r.apply(ctx, w, c, warnings)
	wait, err := r.withdrawOld(ctx, w.Application, c, res.delivered)
	if failed != nil || err != nil {
		return result{}, errors.Join(failed, err)
	}
	if !res.delivered && !res.silent {
		res.standing = c.all
	}
	res.after = sooner(wait, res.after)
	return res, nil
}

// apply makes the current work the wanted one, or a new one when there is none.
func (r *Reconciler) apply(ctx context.Context, w policy.Inputs, c copies, warnings []policy.Message) (result, error) {
	other, err := r.holderOf(ctx, w.Application, c)
	if err != nil {
		return result{}, err
	}
	if other != nil {
		return r.refuseTaken(ctx, w.Application, c, other)
	}
	if c.current == nil && c.terminating != nil {
		return waitFor(c.terminating), nil
	}
	res, err := r.write(ctx, w, c.current, warnings)
	var own *existingWorkError
	if !errors.As(err, &own) {
		return res, err
	}
	if own.work.DeletionTimestamp != nil {
		return waitFor(own.work), nil
	}
	return r.write(ctx, w, own.work, warnings)
}

// write makes current, or a new work, the wanted one.
func (r *Reconciler) write(ctx context.Context, w policy.Inputs, current *manifestcache.Work, warnings []policy.Message) (result, error) {
	if size := manifestcache.OmittedSpec(w.Application.Spec); size > 0 {
		return r.keep(ctx, w, current, r.tooLarge(size))
	}
	if payload.Observes(w.Application) {
		return r.observe(ctx, w, current, warnings)
	}
	next, written, err := r.request(ctx, w, current)
	if err != nil || written {
		return result{silent: true}, err
	}
	want, err := payload.ManifestWork(r.payloadInputs(w, current, next.Request))
	if err != nil {
		return result{}, fmt.Errorf("build ManifestWork for Application %s: %w", client.ObjectKeyFromObject(w.Application), err)
	}
	bindToUID(w.Application, current, want)
	if size := payload.Size(want); size > r.options.SizeLimit {
		return r.keep(ctx, w, current, r.tooLarge(size))
	}
	put, err := r.applyWork(ctx, w.Application, current, want, next.Plan)
	if err != nil {
		return notApplied("not delivered", current, err)
	}
	taken, err := r.nameTaken(ctx, w.Application, want.Namespace, put.name)
	warnings = append(alreadyThere(w.Application, current), warnings...)
	return result{delivered: true, after: next.after, decision: policy.Decision{Deliver: true, Warnings: append(append(warnings, put.warnings...), taken...)}}, err
}

// tooLarge refuses an Application whose manifests have size bytes, or its spec alone.
func (r *Reconciler) tooLarge(size int) result {
	return result{decision: policy.Refuse(policy.ReasonTooLarge,
		"not delivered: the ManifestWork would hold %d bytes of manifests and the limit is %d; make the Application smaller (move inline values into git)", size, r.options.SizeLimit)}
}

// refuseTaken refuses an Application whose delivered identity belongs to another, and
// withdraws a copy that it has all the same once the other's is applied.
func (r *Reconciler) refuseTaken(ctx context.Context, app *argocd.Application, c copies, to *claimant) (result, error) {
	cluster, there := app.Annotations[contract.ClusterAnnotation], payload.DeliveredName(app)
	if !to.wants {
		return result{decision: policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing Application %s that %s left there (ManifestWork %s)", cluster, there, to.key, to.copy)}, nil
	}
	res := result{decision: policy.Refuse(policy.ReasonTaken,
		"not delivered: Application %s already delivers %s on cluster %q; rename this Application, or give it another namespace there with annotation %s",
		to.key, there, cluster, contract.AppNamespaceAnnotation)}
	if c.current == nil {
		return res, nil
	}
	res.after = afterRefusal
	theirs, err := r.liveWork(ctx, client.ObjectKey{Namespace: cluster, Name: to.copy})
	if err != nil || theirs == nil || theirs.DeletionTimestamp != nil || appliedAt(theirs) != metav1.ConditionTrue {
		return res, err
	}
	wait, err := r.withdrawVerified(ctx, app, withdrawal{
		app: client.ObjectKeyFromObject(app), works: append([]*manifestcache.Work{c.current}, c.surplus...), reason: policy.ReasonTaken, shared: true,
	})
	res.after = sooner(res.after, wait)
	return res, err
}
