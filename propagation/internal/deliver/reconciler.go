// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// afterConflict is the delay after another client has written first.
const afterConflict = boot.ConflictDelay

// Reconciler delivers one Application at a time. It gathers facts and decides. The API server has
// to confirm a removal. Then the Reconciler carries the plan out.
type Reconciler struct {
	facts   *sources
	cached  reader
	live    reader
	budget  *budget.Budget
	sweeper *sweeper
	applier *applier
}

// Reconcile brings the ManifestWorks of one Application to the state that was decided.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	after, err := r.reconcile(ctx, req.NamespacedName)
	if err != nil {
		errorsTotal.WithLabelValues(errorKind(err)).Inc()
	}
	return resultOf(ctx, after, err)
}

// resultOf returns the result for controller-runtime, which ignores a delay together with an error.
func resultOf(ctx context.Context, after time.Duration, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("another client wrote the object first; trying again", "cause", err.Error())
		return ctrl.Result{RequeueAfter: afterConflict}, nil
	}
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)) && after > 0:
		ctrl.LoggerFrom(ctx).Error(err, "this stays so until the Application changes; something else is due", "after", after.String())
		return ctrl.Result{RequeueAfter: after}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// reconcile returns the delay until the next reconcile, or 0 if only an event leads to it.
func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	lost, err := r.restore(ctx, key)
	if err != nil {
		return 0, err
	}
	facts, err := gather(ctx, r.facts, r.cached, key)
	if err != nil {
		return 0, err
	}
	p := pass{facts: facts, works: facts.Works, plan: decide.Decide(facts)}
	p.plan.Missing = lost.works
	p.verdict = r.budget.Set(p.plan)
	if p.plan.Destroys(p.verdict) {
		live, err := gather(ctx, r.facts, r.live, key)
		if err != nil {
			return 0, err
		}
		p.plan, p.works = p.plan.ConfirmedBy(decide.Decide(live)), live.Works
	}
	if len(p.plan.Fates) != len(facts.Works) {
		return 0, fmt.Errorf("plan for Application %s: %d fates for %d ManifestWorks", key, len(p.plan.Fates), len(facts.Works))
	}
	if lost.own {
		p.plan.Release, p.plan.After = decide.NoRelease, decide.Sooner(p.plan.After, restorePause)
	}
	return p.plan.After, r.applier.apply(ctx, p)
}

// restore restores the label of the works that concern an Application, as [sweeper.restore]. The
// Application shows why that is rejected.
func (r *Reconciler) restore(ctx context.Context, key types.NamespacedName) (m missing, err error) {
	app, err := readObject(ctx, r.sweeper.client, key, &argocd.Application{})
	if err != nil {
		return m, err
	}
	m, err = r.sweeper.restore(ctx, key, app)
	if err == nil || app == nil || app.DeletionTimestamp != nil || !isRejected(err) {
		return m, err
	}
	whole, failed := readObject(ctx, r.cached, key, &argocd.Application{})
	if whole == nil || failed != nil {
		return m, errors.Join(err, failed)
	}
	return m, errors.Join(err, r.applier.reporter.updateConditions(ctx, whole, *refused("not delivered", err), ""))
}

// prepare plans every Application once with facts from the caches. It returns how long to wait for
// ManifestWorks that the cache does not have yet, or for facts that cannot be read.
func (r *Reconciler) prepare(ctx context.Context, started time.Time) (time.Duration, error) {
	keys, err := r.sweeper.keys(ctx)
	if err != nil {
		return 0, err
	}
	var failed error
	for key := range keys {
		facts, err := gather(ctx, r.facts, r.cached, key)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.budget.SetFirst(decide.Decide(facts))
	}
	waits, most := r.sweeper.lacks(), prepareTimeout
	if failed != nil {
		ctrl.LoggerFrom(ctx).Error(failed, "cannot plan all Applications before ManifestWorks end")
		waits, most = true, failedTimeout
	}
	if left := most - r.facts.now().Sub(started); waits && left > 0 {
		return min(left, time.Second), nil
	}
	return 0, nil
}

const (
	// prepareTimeout is how long removals wait after a start for works without the label.
	prepareTimeout = 30 * time.Second
	// failedTimeout is how long they wait for Applications with facts that cannot be read.
	failedTimeout = 10 * time.Second
)

// pass is one reconcile of an Application.
type pass struct {
	facts   decide.Facts
	plan    decide.Plan
	verdict decide.Verdict
	// works are the works of the facts that removals rest on.
	works []decide.Work
}

// work returns the work of a fate from the facts that its removal rests on, or nil.
func (p *pass) work(uid types.UID) *decide.Work {
	for i := range p.works {
		if p.works[i].UID == uid {
			return &p.works[i]
		}
	}
	return nil
}
