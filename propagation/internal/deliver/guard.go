// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// withdrawals is the budget as delivery uses it: each reconcile of an Application notes
// which of its works are to be withdrawn.
type withdrawals struct{ *budget.Budget }

func (w withdrawals) begin(app types.NamespacedName) { w.Begin(app) }

func (w withdrawals) end(app types.NamespacedName, err error) { w.End(app, err) }

// note notes that a work of app is to be withdrawn, when due at once, and reports
// whether it may be. revocation: since it may not be there any more.
func (w withdrawals) note(app types.NamespacedName, work *manifestcache.Cached, due, revocation bool, now time.Time) bool {
	return w.Note(app, work.UID, groupOf(work), due, revocation, now)
}

// held returns why works of app that its last reconcile noted are held.
func (w withdrawals) held(app types.NamespacedName) (guard.HeldBack, bool) { return w.Held(app) }

// groupOf returns the group that a work is judged with.
func groupOf(work metav1.Object) guard.Group { return budget.GroupOf(work) }

// decisionOn returns what operators have decided about a group.
func (f *gatherer) decisionOn(ctx context.Context, g guard.Group, revocation bool) (guard.Decision, error) {
	return f.withdrawals.Decision(ctx, g, revocation)
}

// wordsOfSet returns the annotations of an ApplicationSet. When it is gone they are those
// that outlive it, unless an administrator has approved that its deliveries go.
func (f *gatherer) wordsOfSet(ctx context.Context, namespace, set string) (annotations map[string]string, gone bool, err error) {
	annotations, gone, err = f.withdrawals.SetAnnotations(ctx, namespace, set)
	if err != nil || !gone || len(annotations) == 0 {
		return annotations, gone, err
	}
	d, err := f.decisionOn(ctx, guard.Group{Namespace: namespace}, false)
	if d.Word == guard.Approve {
		annotations = nil
	}
	return annotations, gone, err
}

// withHeld adds to a decision that what it withdraws is held.
func (rep *reporter) withHeld(app *argocd.Application, v policy.Decision) policy.Decision {
	why, held := rep.withdrawals.held(client.ObjectKeyFromObject(app))
	if !held {
		return v
	}
	m := policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: rep.withdrawals.HeldText(why)}
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

func (rep *reporter) recordOn(ref *corev1.ObjectReference, m policy.Message) {
	budget.Record(rep.events, ref, m)
}
