// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// By what withdrawals are held, as in metrics.
const (
	heldByLimit    = "limit"
	heldByHub      = "hub"
	heldByDecision = "annotation"
)

// heldText is what is said of a hold. It says the same as long as the hold lasts.
func (r *Reconciler) heldText(why guard.HeldBack) string {
	switch d := why.Decision; {
	case d.Word != guard.None && d.Until.IsZero():
		return fmt.Sprintf(contract.WithdrawalHeld+": annotation %s of %s has an invalid value; correct or remove it", contract.WithdrawalsAnnotation, d.On)
	case d.Word != guard.None:
		return fmt.Sprintf(contract.WithdrawalHeld+" by annotation %s of %s: %s until %s", contract.WithdrawalsAnnotation, d.On, d.Word, d.Until.Format("2006-01-02T15:04:05Z"))
	}
	where := why.Group.Namespace
	if where == "" {
		where = r.options.HubNamespace
	}
	return fmt.Sprintf(contract.WithdrawalHeld+`: %d of %d deliveries of %s would be withdrawn within %s and the limit is %d; if that is a mistake, correct it and set "undo until <time>"; if it is intended: kubectl annotate --overwrite namespace %s %s="approve until $(date -u -d +1hour +%%FT%%TZ)"`,
		why.Doomed, why.Deliveries, why.Group, r.options.Withdrawals.Window, why.Limit, where, contract.WithdrawalsAnnotation)
}

// withHeld adds to a decision that what it withdraws is held.
func (r *Reconciler) withHeld(app *argocd.Application, v policy.Decision) policy.Decision {
	why, held := r.withdrawals.held(client.ObjectKeyFromObject(app))
	if !held {
		return v
	}
	m := policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: r.heldText(why)}
	switch {
	case v.Deliver:
		v.Warnings = append(slices.Clip(v.Warnings), m)
	case v.Refusal.Text == "" || v.Refusal.Reason == policy.ReasonDeleting:
		v.Refusal, v.Severity = m, policy.SeverityWarning
	default:
		v.Refusal.Text += "; " + m.Text
	}
	return v
}

// reportHolds reports the beginning and the end of each hold once, and keeps the metrics.
func (r *Reconciler) reportHolds(ctx context.Context) {
	w := r.withdrawals
	log := ctrl.LoggerFrom(ctx)
	w.mu.Lock()
	counts := w.ledger.HeldIn()
	groups := map[guard.Group]guard.HeldBack{}
	for g := range counts {
		groups[g], _ = w.ledger.HeldGroup(g)
	}
	now := map[guard.Group]guard.HeldBack{}
	for g, why := range groups {
		if why.Decision.Word == guard.None {
			g = why.Group // the whole hub is reported once
		}
		now[g] = why
	}
	for g := range w.reported {
		if why, held := w.ledger.HeldGroup(g); held {
			now[g] = why // it has not ended while nothing of it is there
		}
	}
	w.mu.Unlock()
	w.show(groups, counts)
	for g, why := range now {
		if before, already := w.reported[g]; already && before.Since.Equal(why.Since) && before.Decision == why.Decision {
			continue
		}
		log.Info("withdrawals are held until an operator decides", "group", g.String(), "doomed", why.Doomed, "deliveries", why.Deliveries, "limit", why.Limit, "decision", why.Decision.Word)
		if why.Decision.Word == guard.None {
			r.recordHold(ctx, why)
		}
	}
	for g := range w.reported {
		if _, still := now[g]; !still {
			log.Info("withdrawals are no longer held", "group", g.String())
		}
	}
	w.reported = now
}

// show sets the metrics to the groups that are held.
func (w *withdrawals) show(groups map[guard.Group]guard.HeldBack, counts map[guard.Group]int) {
	shown := map[series]bool{}
	for g, why := range groups {
		one := series{g.Namespace, g.Set, heldByLimit}
		switch {
		case why.Decision.Word != guard.None:
			one.by = heldByDecision
		case why.Group == guard.Group{}:
			one.by = heldByHub
		default:
			withdrawalsLimit.WithLabelValues(g.Namespace, g.Set).Set(float64(why.Limit))
		}
		withdrawalsHeld.WithLabelValues(one.namespace, one.set, one.by).Set(float64(counts[g]))
		shown[one] = true
	}
	for old := range w.shown {
		if shown[old] {
			continue
		}
		withdrawalsHeld.DeleteLabelValues(old.namespace, old.set, old.by)
		if old.by == heldByLimit {
			withdrawalsLimit.DeleteLabelValues(old.namespace, old.set)
		}
	}
	w.shown = shown
}

// recordHold records an Event on the ApplicationSet that is held, or on the Namespace.
func (r *Reconciler) recordHold(ctx context.Context, why guard.HeldBack) {
	o, key := appcache.NamespaceMetadata(), client.ObjectKey{Name: why.Group.Namespace}
	if why.Group == (guard.Group{}) {
		key.Name = r.options.HubNamespace
	}
	if key.Name == "" {
		return
	}
	if why.Group.Set != "" {
		set := argocd.ApplicationSetMetadata()
		if r.client.Get(ctx, client.ObjectKey{Namespace: why.Group.Namespace, Name: why.Group.Set}, set) == nil {
			o, key = set, client.ObjectKeyFromObject(set)
		}
	}
	o.Namespace, o.Name = key.Namespace, key.Name
	r.recordOn(referTo(o), policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: r.heldText(why)})
}

func (r *Reconciler) recordOn(ref *corev1.ObjectReference, m policy.Message) {
	r.events.Eventf(ref, nil, corev1.EventTypeWarning, m.Reason, "Withdraw", "%s", m.Text)
}
