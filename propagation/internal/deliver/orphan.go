// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// The work agent ignores a work that is being deleted. What is to stay has to be said in
// the work, and applied, before: then the agent takes its ownership of the objects back,
// and the end of the work touches nothing.

// onWithdraw returns what an Application, which is nil when it is gone, or else its
// ApplicationSet says about the end of its delivery.
func (r *Reconciler) onWithdraw(ctx context.Context, app *argocd.Application, g guard.Group) (policy.OnWithdraw, error) {
	if app != nil {
		if w := policy.ParseOnWithdraw(app.Annotations[contract.OnWithdrawAnnotation], "Application "+app.Namespace+"/"+app.Name); w.Says() {
			return w, nil
		}
	}
	if g.Set == "" {
		return policy.OnWithdraw{}, nil
	}
	set := argocd.ApplicationSetMetadata()
	if err := r.decisionObject(ctx, set, client.ObjectKey{Namespace: g.Namespace, Name: g.Set}); err != nil {
		return policy.OnWithdraw{}, err
	}
	if set.UID == "" { // its Applications are about to go with it
		return policy.OnWithdraw{AsBefore: true}, nil
	}
	return policy.ParseOnWithdraw(set.Annotations[contract.OnWithdrawAnnotation], argocd.ApplicationSetKind+" "+g.Namespace+"/"+g.Set), nil
}

// stays reports whether what a work delivers is to stay when it is withdrawn; app is nil
// when it is gone.
func (r *Reconciler) stays(ctx context.Context, app *argocd.Application, work *manifestcache.Cached) (bool, error) {
	if work.Annotations[contract.ObservedAnnotation] != "" {
		return true, nil
	}
	wish, err := r.onWithdraw(ctx, app, groupOf(work))
	return wish.Problem == "" && cmp.Or(wish.Word, work.Annotations[contract.OnWithdrawAnnotation]) == payload.WithdrawOrphan, err
}

// ending is what becomes of a work that is to be withdrawn.
type ending struct {
	// stays: what it delivers is to stay.
	stays bool
	// waits: the agent has not applied yet what is to become of it.
	waits bool
	// problem says why that cannot be told.
	problem string
}

// endingOf finds out what becomes of what a work delivers, from its Application, its
// ApplicationSet, or what they said last, and has the work say so. app is nil when it is
// gone.
func (r *Reconciler) endingOf(ctx context.Context, app *argocd.Application, work *manifestcache.Cached) (ending, error) {
	if work.Annotations[contract.ObservedAnnotation] != "" {
		return ending{stays: true}, nil // from its beginning
	}
	wish, err := r.onWithdraw(ctx, app, groupOf(work))
	if err != nil || wish.Problem != "" {
		return ending{waits: true, problem: wish.Problem}, err
	}
	marked := work.Annotations[contract.OnWithdrawAnnotation]
	e := ending{stays: cmp.Or(wish.Word, marked) == payload.WithdrawOrphan}
	if !e.stays && marked == "" {
		return e, nil
	}
	live, err := r.liveWork(ctx, client.ObjectKeyFromObject(work))
	switch {
	case err != nil:
		return e, err
	case live == nil:
		return e, nil
	case payload.Orphans(live) == e.stays && (live.Annotations[contract.OnWithdrawAnnotation] != "") == e.stays:
		e.waits = !appliedNow(live)
		return e, nil
	}
	e.waits = true
	patch, err := payload.OnDeletePatch(live, e.stays)
	if err != nil {
		return e, err
	}
	if _, err := r.patchWork(ctx, appcache.Compact(live), patch); err != nil {
		return e, err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("set in a ManifestWork whether what it delivers stays", "cluster", work.Namespace, "work", work.Name, "stays", e.stays)
	return e, nil
}

// outcome is what came of a withdrawal.
type outcome struct {
	// held: the guard or a pause keeps something.
	held bool
	// pending wait for their agent to apply what becomes of what they deliver.
	pending []manifestcache.Cached
	// problem says which annotation cannot be followed.
	problem string
}

func (o outcome) done() bool { return !o.held && len(o.pending) == 0 }

// decision is what is said of a withdrawal that waits for agents.
func (o outcome) decision() policy.Decision {
	if o.problem != "" {
		return policy.Refuse(policy.ReasonInvalidTarget, "nothing is withdrawn: %s", o.problem)
	}
	v := policy.Refuse(policy.ReasonOrphanPending,
		"not withdrawn yet: waiting for %s to apply annotation %s; if the cluster will not come back, set annotation %s to \"true\"",
		strings.Join(places(o.pending), ", "), contract.OnWithdrawAnnotation, contract.AbandonAnnotation)
	v.Severity = policy.SeverityWarning
	return v
}

// recordOrphansPending says that an Application was let go before its clusters knew that
// what they run stays: the works go once they do, which the sweep sees to.
func (r *Reconciler) recordOrphansPending(ctx context.Context, app *argocd.Application, works []manifestcache.Cached) {
	names := places(works)
	ctrl.LoggerFrom(ctx).Info("released an Application before its clusters applied that what they run stays", "works", names)
	if more := len(names) - maxReceipt; more > 0 {
		names = append(names[:maxReceipt], fmt.Sprintf("%d more, see the log", more))
	}
	r.recordWarning(app, policy.Message{Reason: policy.ReasonOrphanPending, Text: fmt.Sprintf(
		"released before %s applied that what it runs stays; propagation deletes the ManifestWork once it has: do not delete it earlier, or the cluster prunes everything", strings.Join(names, ", "))})
}
