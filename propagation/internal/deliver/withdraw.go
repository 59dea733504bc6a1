// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// bindingQuiet is how long a lost binding is not spoken of: the placement controller
// moves clusters between PlacementDecisions in two writes, and nobody has lost
// anything in between.
const bindingQuiet = 3 * time.Second

// withdrawRefused withdraws an Application that may not, or no longer wants to, be on its
// cluster. What says so is read again from the API server first: a stale cache
// must not cost anybody a deployment.
func (r *Reconciler) withdrawRefused(ctx context.Context, app *argocd.Application, works []manifestcache.Cached, v policy.Decision) (ctrl.Result, error) {
	c, err := r.copiesOf(ctx, app, works)
	if err != nil {
		return ctrl.Result{}, err
	}
	var again ctrl.Result
	if len(c.all) > 0 {
		if v.Keep {
			return r.keepDelivered(ctx, app, c, v)
		}
		if what, ok := mayComeBack(app, v); ok {
			missing := max(r.gracePeriods.missing(client.ObjectKeyFromObject(app), what, r.now()), refusedFor(app, v, r.now()))
			if left := r.options.BindingGrace - missing; left > 0 {
				return r.waitForBinding(ctx, app, c, v, missing, left)
			}
		}
		o, err := r.withdraw(ctx, withdrawal{
			app: client.ObjectKeyFromObject(app), works: c.all, reason: cmp.Or(v.Refusal.Reason, policy.ReasonNotPulled),
			confirm: func(ctx context.Context) (yes bool, err error) {
				v, yes, err = r.stillRefused(ctx, app)
				return yes, err
			},
		})
		if err != nil {
			return ctrl.Result{}, err
		}
		again.RequeueAfter = o.after
		if o = o.of(c.proven); !o.done() {
			return again, r.reportNotWithdrawn(ctx, app, c, o, v)
		}
	}
	v.Withdrawn = true
	return again, r.updateConditions(ctx, app, v)
}

// stillRefused decides again, by what the API server has.
func (r *Reconciler) stillRefused(ctx context.Context, app *argocd.Application) (v policy.Decision, yes bool, err error) {
	fresh := &argocd.Application{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(app), fresh); err != nil {
		return v, false, client.IgnoreNotFound(err) // gone: its event is on the way
	}
	w, err := r.readInputs(ctx, uncached(r.live), fresh)
	if err != nil {
		return v, false, err
	}
	if v = policy.Decide(w); v.Deliver || v.Keep || fresh.UID != app.UID {
		return v, false, r.changed(app) // the cache is behind
	}
	return v, true, nil
}

// reportNotWithdrawn says why a withdrawal has not come about: it waits for an agent, is held or
// paused; and nothing before that is known.
func (r *Reconciler) reportNotWithdrawn(ctx context.Context, app *argocd.Application, c copies, o outcome, v policy.Decision) error {
	if err := r.updateProjects(ctx, c.all); err != nil {
		return err
	}
	if len(o.pending) > 0 {
		return r.updateConditions(ctx, app, o.decision())
	}
	if o.pause.Word != "" {
		return r.updateConditions(ctx, app, o.pause.Decision("its withdrawal waits until then"))
	}
	if _, held := r.budget.Held(client.ObjectKeyFromObject(app)); !held {
		return nil
	}
	return r.updateConditions(ctx, app, v)
}

// keepDelivered leaves what an Application has on its target as it is, since what refuses it
// is a slip that nobody wants to pay for with a deployment.
func (r *Reconciler) keepDelivered(ctx context.Context, app *argocd.Application, c copies, v policy.Decision) (ctrl.Result, error) {
	wait, err := r.withdrawOld(ctx, app, c, progressWaiting)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.updateProjects(ctx, c.all); err != nil {
		return ctrl.Result{}, err
	}
	if standing := c.standing(); standing != nil {
		v.Refusal.Text += fmt.Sprintf("; until then cluster %q keeps what was delivered before", standing.Namespace)
	}
	return ctrl.Result{RequeueAfter: wait}, r.updateConditions(ctx, app, v)
}

// waitForBinding waits out the grace period of a lost binding, or of what is as good as one.
func (r *Reconciler) waitForBinding(ctx context.Context, app *argocd.Application, c copies, v policy.Decision, missing, left time.Duration) (ctrl.Result, error) {
	wait, err := r.withdrawOld(ctx, app, c, progressWaiting)
	if err != nil {
		return ctrl.Result{}, err
	}
	if standing := c.standing(); standing != nil {
		r.noteUpcoming(client.ObjectKeyFromObject(app), append([]manifestcache.Cached{*standing}, c.surplus...), v.Refusal.Reason)
	}
	if err := r.updateProjects(ctx, c.all); err != nil {
		return ctrl.Result{}, err
	}
	if quiet := bindingQuiet - missing; quiet > 0 {
		return ctrl.Result{RequeueAfter: sooner(wait, min(quiet, left))}, nil
	}
	v.Refusal.Text += fmt.Sprintf("; what was delivered before is withdrawn when that has been so for %s (--binding-grace)", r.options.BindingGrace)
	return ctrl.Result{RequeueAfter: sooner(wait, left)}, r.updateConditions(ctx, app, v)
}

// reconcileMissing withdraws the works of an Application that is gone, and stays so: one
// that is made again at once keeps what it runs.
func (r *Reconciler) reconcileMissing(ctx context.Context, key client.ObjectKey, works []manifestcache.Cached) (ctrl.Result, error) {
	r.reporter.tracker.forget(key)
	r.refreshes.forget(key)
	works, err := r.unowned(ctx, works)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(works) == 0 {
		r.gracePeriods.forget(key)
		return ctrl.Result{}, nil
	}
	if left := r.options.RecreateGrace - r.gracePeriods.missing(key, applicationGone, r.now()); left > 0 {
		r.noteUpcoming(key, works, withdrawnGone)
		return ctrl.Result{RequeueAfter: left}, nil
	}
	o, err := r.withdraw(ctx, withdrawal{app: key, works: works, reason: withdrawnGone, confirm: func(ctx context.Context) (bool, error) {
		app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		err := r.live.Get(ctx, key, app)
		switch {
		case err == nil:
			return false, r.changed(app) // the cache is behind
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("get Application %s: %w", key, err)
		}
		return true, nil
	}})
	return ctrl.Result{RequeueAfter: o.after}, err
}
