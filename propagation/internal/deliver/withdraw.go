// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// bindingQuiet is how long a lost binding is not reported: the placement controller
// moves clusters between PlacementDecisions in two writes, and nothing is lost
// in between.
const bindingQuiet = 3 * time.Second

// withdrawRefused withdraws an Application that may not, or no longer wants to, be on its
// cluster. What says so is read again from the API server first: a stale cache
// must not cost a deployment.
func (r *Reconciler) withdrawRefused(ctx context.Context, app *argocd.Application, works []*manifestcache.Work, v policy.Decision) (result, error) {
	c, err := r.copiesOf(ctx, app, works)
	if err != nil {
		return result{}, err
	}
	if len(c.all) == 0 {
		v.Withdrawn = true
		return result{decision: v}, nil
	}
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
		return result{}, err
	}
	if o = o.of(c.proven); !o.done() {
		return r.notWithdrawn(app, c, o, v), nil
	}
	v.Withdrawn = true
	return result{after: o.after, decision: v}, nil
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

// notWithdrawn is the result of a withdrawal that has not come about: it waits for an agent, is
// held or paused; v is what it is for.
func (r *Reconciler) notWithdrawn(app *argocd.Application, c copies, o outcome, v policy.Decision) result {
	res := result{standing: c.all, after: o.after, decision: v}
	_, held := r.budget.Held(client.ObjectKeyFromObject(app))
	switch {
	case len(o.pending) > 0:
		res.decision = o.decision()
	case o.pause.Word != "":
		res.decision = o.pause.Decision("its withdrawal waits until then")
	case !held:
		res.silent = true // what it rests on has changed
	}
	return res
}

// keepDelivered leaves what an Application has on its target as it is, since what refuses it
// is a slip that must not cost a deployment.
func (r *Reconciler) keepDelivered(ctx context.Context, app *argocd.Application, c copies, v policy.Decision) (result, error) {
	wait, err := r.withdrawOld(ctx, app, c, false)
	if standing := c.standing(); standing != nil {
		v.Refusal.Text += fmt.Sprintf("; until then cluster %q keeps what was delivered before", standing.Namespace)
	}
	return result{standing: c.all, after: wait, decision: v}, err
}

// waitForBinding waits out the grace period of a lost binding, or of what is as good as one.
func (r *Reconciler) waitForBinding(ctx context.Context, app *argocd.Application, c copies, v policy.Decision, missing, left time.Duration) (result, error) {
	wait, err := r.withdrawOld(ctx, app, c, false)
	if standing := c.standing(); standing != nil {
		_, _, failed := r.note(ctx, client.ObjectKeyFromObject(app), app, append([]*manifestcache.Work{standing}, c.surplus...), v.Refusal.Reason, false)
		err = errors.Join(err, failed)
	}
	if quiet := bindingQuiet - missing; quiet > 0 {
		return result{standing: c.all, after: sooner(wait, min(quiet, left)), silent: true}, err
	}
	v.Refusal.Text += fmt.Sprintf("; what was delivered before is withdrawn when that has been so for %s (--binding-grace)", r.options.BindingGrace)
	return result{standing: c.all, after: sooner(wait, left), decision: v}, err
}

// reconcileMissing withdraws the works of an Application that is gone, and stays so: one
// that is made again at once keeps what it runs.
func (r *Reconciler) reconcileMissing(ctx context.Context, key client.ObjectKey, works []*manifestcache.Work) (result, error) {
	r.reporter.tracker.forget(key)
	r.refreshes.forget(key)
	works, err := r.unowned(ctx, works)
	if err != nil {
		return result{}, err
	}
	if len(works) == 0 {
		r.gracePeriods.forget(key)
		return result{silent: true}, nil
	}
	if left := r.options.RecreateGrace - r.gracePeriods.missing(key, applicationGone, r.now()); left > 0 {
		_, _, err := r.note(ctx, key, nil, works, withdrawnGone, false)
		return result{silent: true, after: left}, err
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
	return result{silent: true, after: o.after}, err
}
