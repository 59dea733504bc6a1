// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// pausedDelivery leaves what is on the target as it is, but for what pause itself asks
// for, and says so when something waits.
func (r *Reconciler) pausedDelivery(ctx context.Context, w policy.Inputs, works []*manifestcache.Work, p policy.Pause, warnings []policy.Message) (result, error) {
	c, err := r.copiesOf(ctx, w.Application, works)
	if err != nil {
		return result{}, err
	}
	next, err := r.plan(w, c.current)
	if err != nil {
		return result{}, err
	}
	res := result{silent: true, after: p.Left(r.now())}
	if p.Word == policy.PauseSync && next.Step != request.StepHold && syncs(c.current) {
		return res, r.pauseSync(ctx, c.current, next.over(c.current))
	}
	if next.Step == request.StepFinish && next.claim == "" {
		return res, r.endRefresh(ctx, w.Application, next.Request.ID) // no ManifestWork is written for it
	}
	n, err := r.waiting(w, c, next.Plan)
	if err != nil {
		return result{}, err
	}
	res = result{after: sooner(res.after, next.after), decision: policy.Decision{Deliver: true, Warnings: warnings}}
	if n > 0 {
		res.standing = c.all
	}
	switch {
	case n == 1:
		res.decision = p.Decision("1 change waits")
	case n > 0 || p.Problem != "":
		res.decision = p.Decision(fmt.Sprintf("%d changes wait", n))
	}
	return res, nil
}

// keep leaves a work as it is, and ends on it what has nothing to do with why: a request that has
// been, and a pause of syncs that is over.
func (r *Reconciler) keep(ctx context.Context, w policy.Inputs, current *manifestcache.Work, res result) (result, error) {
	if current == nil {
		return res, nil
	}
	next, err := r.plan(w, current)
	switch {
	case err != nil:
	case next.Step == request.StepFinish || next.Step == request.StepDrop:
		_, _, err = r.request(ctx, w, current)
		return result{silent: true}, err // its event leads to the next step
	case next.Step != request.StepHold && current.Annotations[contract.PausedAnnotation] != "":
		err = r.resumeSync(ctx, current, next.over(current))
	}
	return res, err
}

// syncs reports whether a work delivers an Application from which no pause has taken the
// automation. It is taken out once no operation is under way, or yet to be reported on: a
// write of the Application would have the agent apply that again.
func syncs(current *manifestcache.Work) bool {
	return current != nil && current.Annotations[contract.PausedAnnotation] == "" && current.Annotations[contract.ObservedAnnotation] == ""
}
