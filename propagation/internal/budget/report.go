// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// reporter reports what is held: log, Events and metrics.
type reporter struct {
	client  client.Client
	events  events.EventRecorder
	options Options
	// reported are the holds of which a log line and an Event were written.
	reported map[guard.HeldBack]bool
	// shown are the series of the metrics.
	shown map[series]bool
	// failure is the error that was logged last.
	failure string
}

// HeldText is what an Application in the group says of a hold. It is the same as long as
// the hold lasts.
func (b *Budget) HeldText(why guard.HeldBack) string {
	return b.reporter.text(why, why.Group.Namespace)
}

// text is what is said of a hold; namespace is the one to approve on, "" for propagation's.
func (r *reporter) text(why guard.HeldBack, namespace string) string {
	if namespace == "" {
		namespace = r.options.Namespace
	}
	approve := fmt.Sprintf(`kubectl annotate --overwrite namespace %s %s="approve until $(date -u -d +1hour +%%FT%%TZ)"`, namespace, contract.DeletionBudgetAnnotation)
	switch d := why.Decision; {
	case why.Problem != "":
		return contract.WithdrawalHeld + ": " + why.Problem
	case d.Gone && d.Until.IsZero():
		return fmt.Sprintf(contract.WithdrawalHeld+": annotation %s of %s, which is gone, had an invalid value; if the withdrawal is intended: %s", contract.DeletionBudgetAnnotation, d.On, approve)
	case d.Gone:
		return fmt.Sprintf(contract.WithdrawalHeld+" by annotation %s of %s, which is gone: %s until %s; to end that: %s", contract.DeletionBudgetAnnotation, d.On, d.Word, d.Until.Format(time.RFC3339), approve)
	case d.Word != guard.None && d.Until.IsZero():
		return fmt.Sprintf(contract.WithdrawalHeld+": annotation %s of %s has an invalid value; correct or remove it", contract.DeletionBudgetAnnotation, d.On)
	case d.Word != guard.None:
		return fmt.Sprintf(contract.WithdrawalHeld+" by annotation %s of %s: %s until %s", contract.DeletionBudgetAnnotation, d.On, d.Word, d.Until.Format(time.RFC3339))
	}
	return fmt.Sprintf(contract.WithdrawalHeld+`: %d of %d deliveries of %s would be withdrawn within %s and the limit is %d; if that is a mistake, correct it and set "undo until <time>"; if it is intended: %s`,
		why.Pending, why.Deliveries, why.Group, r.options.Window, why.Limit, approve)
}

// assume takes holds for reported: they were by an earlier process.
func (r *reporter) assume(holds []guard.HeldIn) {
	for _, h := range holds {
		r.reported[h.HeldBack] = true
	}
}

// report reports the beginning and the end of each hold once, and keeps the metrics.
func (r *reporter) report(ctx context.Context, holds []guard.HeldIn) {
	r.show(holds)
	log := ctrl.LoggerFrom(ctx).WithName("budget")
	now := map[guard.HeldBack]bool{}
	for _, h := range holds {
		now[h.HeldBack] = true // the whole hub is reported once
	}
	for why := range now {
		if r.reported[why] {
			continue
		}
		log.Info("withdrawals are held until an operator decides", "group", why.Group.String(), "pending", why.Pending, "deliveries", why.Deliveries, "limit", why.Limit, "decision", why.Decision.Word)
		if why.Decision.Word == guard.None {
			r.record(ctx, why)
		}
	}
	for why := range r.reported {
		if !now[why] {
			log.Info("withdrawals are no longer held", "group", why.Group.String())
		}
	}
	r.reported = now
}

// record records an Event on the ApplicationSet that is held, else on its Namespace, and
// when that is gone, too, or the whole hub is held, on propagation's.
func (r *reporter) record(ctx context.Context, why guard.HeldBack) {
	approveOn, key := why.Group.Namespace, client.ObjectKey{Namespace: why.Group.Namespace, Name: why.Group.Set}
	on := r.existing(ctx, appcache.NamespaceMetadata(), client.ObjectKey{Name: why.Group.Namespace})
	if on == nil {
		if approveOn = r.options.Namespace; approveOn == "" {
			return
		}
		on = r.existing(ctx, appcache.NamespaceMetadata(), client.ObjectKey{Name: approveOn})
	} else if set := r.existing(ctx, argocd.ApplicationSetMetadata(), key); set != nil {
		on = set
	}
	if on != nil {
		Record(r.events, Reference(on), policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: r.text(why, approveOn)})
	}
}

// existing reads an object from the cache, nil when it has no name or is not there.
func (r *reporter) existing(ctx context.Context, o *metav1.PartialObjectMetadata, key client.ObjectKey) *metav1.PartialObjectMetadata {
	if key.Name == "" || r.client.Get(ctx, key, o, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	return o
}

// problem logs that no decision can be made, once for each error, and returns what
// Applications say of it, "" without one.
func (r *reporter) problem(ctx context.Context, err error) string {
	log := ctrl.LoggerFrom(ctx).WithName("budget")
	if err == nil {
		if r.failure != "" {
			log.Info("decisions on withdrawals can be made again")
		}
		r.failure = ""
		withdrawalsBlocked.Set(0)
		return ""
	}
	reason := string(apierrors.ReasonForError(err))
	if reason == "" {
		reason = "see the log of propagation"
	}
	if r.failure != reason {
		log.Error(err, "cannot decide on withdrawals; nothing is withdrawn until a retry succeeds")
		r.failure = reason
	}
	withdrawalsBlocked.Set(1)
	return fmt.Sprintf("propagation cannot read or write its ConfigMap %s/%s (%s), and withdraws nothing until it can", r.options.Namespace, recordsName, reason)
}

// Record records a warning on an object.
func Record(recorder events.EventRecorder, ref *corev1.ObjectReference, m policy.Message) {
	recorder.Eventf(ref, nil, corev1.EventTypeWarning, m.Reason, "Withdraw", "%s", m.Text)
}

// Reference refers to an object for an Event, that of a Namespace in that namespace.
func Reference(o *metav1.PartialObjectMetadata) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	if ref.Namespace == "" {
		ref.Namespace = o.Name
	}
	return ref
}
