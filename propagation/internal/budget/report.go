// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// reporter reports holds by log lines, Events and metrics.
type reporter struct {
	client  client.Client
	events  events.EventRecorder
	options Options
	// reported are the holds that have a log line and an Event, by their short form.
	reported map[heldBack]heldBack
	gauges   gauges
	// failure is the last error that was logged.
	failure string
}

// approval returns the command that approves the removals of a namespace, or of the hub for "".
func (r *reporter) approval(namespace string) string {
	if namespace == "" {
		namespace = r.options.Namespace
	}
	return fmt.Sprintf(`kubectl annotate --overwrite namespace %s %s="approve until $(date -u -d +1hour +%%FT%%TZ)"`, namespace, contract.DeletionBudgetAnnotation)
}

// text describes a hold to the Applications of a namespace. It does not change while the hold
// lasts.
func (r *reporter) text(why heldBack, namespace string) string {
	if why.Problem != "" {
		return contract.WithdrawalHeld + ": " + why.Problem
	}
	if why.ofHub() {
		namespace = ""
	}
	approve, all := r.approval(namespace), "namespace "+namespace
	if namespace == "" || namespace == r.options.Namespace {
		all = "the hub" // an annotation on propagation's Namespace overrides every limit
	}
	switch d := why.Override; {
	case d.Gone:
		return fmt.Sprintf(contract.WithdrawalHeld+" by annotation %s of %s, which is gone: %s until %s; to override that for an hour: %s", contract.DeletionBudgetAnnotation, d.On, d.Effect, d.Until.Format(time.RFC3339), approve)
	case d.Effect != decide.None && d.Until.IsZero():
		return fmt.Sprintf(contract.WithdrawalHeld+": annotation %s of %s has an invalid value; correct or remove it", contract.DeletionBudgetAnnotation, d.On)
	case d.Effect != decide.None:
		return fmt.Sprintf(contract.WithdrawalHeld+" by annotation %s of %s: %s until %s", contract.DeletionBudgetAnnotation, d.On, d.Effect, d.Until.Format(time.RFC3339))
	}
	return fmt.Sprintf(contract.WithdrawalHeld+`: %d of %d deliveries of %s would be withdrawn within %s%s and the limit is %d; if that is a mistake, correct it and set annotation %s to "undo until <time>"; if it is intended, approve every removal of %s: %s`,
		why.Pending, max(why.Deliveries, why.Pending), nameOf(why.Lane), r.options.Window, causes[why.Lane.Kind], why.Limit, contract.DeletionBudgetAnnotation, all, approve)
}

// causes explain why a lane of a cluster is counted separately from the tenant's lane.
var causes = map[decide.LaneKind]string{
	decide.Admin:          " because a permission is missing,",
	decide.ClusterRevoked: " because of what that cluster reports or carries,",
	decide.Unproven:       " because their Applications are gone,",
}

// nameOf describes the deliveries of a lane.
func nameOf(lane decide.Lane) string {
	if lane.Kind.OfCluster() && lane.Group != (decide.Group{}) {
		return fmt.Sprintf("cluster %q", lane.Group.Namespace)
	}
	return lane.Group.String()
}

// assume marks holds as reported, because an earlier process has reported them.
func (r *reporter) assume(holds []heldIn) {
	for _, h := range holds {
		r.reported[h.short()] = h.heldBack
	}
}

// report reports the beginning and the end of each hold once, and updates the metrics.
func (r *reporter) report(ctx context.Context, holds []heldIn) {
	r.gauges.show(holds)
	log := ctrl.LoggerFrom(ctx).WithName("budget")
	now := map[heldBack]heldBack{}
	for _, h := range holds {
		now[h.short()] = h.heldBack // the hold of the hub is reported once
	}
	for key, why := range now {
		if _, known := r.reported[key]; known {
			continue
		}
		log.Info("withdrawals are held until an operator decides", "group", nameOf(why.Lane), "kind", why.Lane.Kind.String(), "pending", why.Pending, "deliveries", why.Deliveries, "limit", why.Limit, "decision", why.Override.Effect)
		if why.Override.Effect == decide.None {
			r.record(ctx, why)
		}
	}
	for key, why := range r.reported {
		if _, held := now[key]; !held {
			log.Info("withdrawals are no longer held", "group", nameOf(why.Lane), "kind", why.Lane.Kind.String())
		}
	}
	r.reported = now
}

// record writes an Event about a hold. It refers to the ApplicationSet, or to its Namespace if the
// ApplicationSet does not exist. For a cluster, for the hub, and if the Namespace does not exist
// either, it refers to propagation's Namespace.
func (r *reporter) record(ctx context.Context, why heldBack) {
	var on *metav1.PartialObjectMetadata
	approveOn, group := "", why.Lane.Group
	if !why.Lane.Kind.OfCluster() {
		approveOn = group.Namespace
		on = r.existing(ctx, appcache.NamespaceMetadata(), client.ObjectKey{Name: group.Namespace})
	}
	if on == nil {
		if approveOn = r.options.Namespace; approveOn == "" {
			return
		}
		on = r.existing(ctx, appcache.NamespaceMetadata(), client.ObjectKey{Name: approveOn})
	} else if set := r.existing(ctx, argocd.ApplicationSetMetadata(), client.ObjectKey{Namespace: group.Namespace, Name: group.Set}); set != nil {
		on = set
	}
	if on != nil {
		Record(r.events, Reference(on), policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: r.text(why, approveOn)})
	}
}

// ended writes an Event on a Namespace: the annotations of a deleted ApplicationSet have no effect
// any more, and n of its deliveries are left.
func (r *reporter) ended(ctx context.Context, set *metav1.PartialObjectMetadata, n int, outlives bool) {
	var ended []string
	for _, key := range []string{contract.DeletionBudgetAnnotation, contract.PausedAnnotation} {
		if value := set.Annotations[key]; strings.TrimSpace(value) != "" && (key != contract.DeletionBudgetAnnotation || !outlives) {
			ended = append(ended, fmt.Sprintf("%s=%.60q", key, value))
		}
	}
	namespace := r.existing(ctx, appcache.NamespaceMetadata(), client.ObjectKey{Name: set.Namespace})
	if len(ended) == 0 || n == 0 || namespace == nil {
		return
	}
	Record(r.events, Reference(namespace), policy.Message{Reason: policy.ReasonEndedWithSet, Text: fmt.Sprintf(
		"ApplicationSet %s/%s is deleted, and %s ended with it; %d deliveries were left; to approve that they are withdrawn: %s",
		set.Namespace, set.Name, strings.Join(ended, " and "), n, r.approval(set.Namespace))})
}

// existing reads an object from the cache. It returns nil if the object has no name or does not
// exist.
func (r *reporter) existing(ctx context.Context, o *metav1.PartialObjectMetadata, key client.ObjectKey) *metav1.PartialObjectMetadata {
	if key.Name == "" || r.client.Get(ctx, key, o, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	return o
}

// problem logs once for each error that no decision is possible. It returns the text for the
// Applications, or "" without an error.
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
	return fmt.Sprintf("propagation cannot read or write its ConfigMap %s/%s (%s), and withdraws nothing until it can", r.options.Namespace, storeName, reason)
}

// Record writes a warning Event on an object.
func Record(recorder events.EventRecorder, ref *corev1.ObjectReference, m policy.Message) {
	recorder.Eventf(ref, nil, corev1.EventTypeWarning, m.Reason, "Withdraw", "%s", m.Text)
}

// Reference returns the reference of an Event to an object. A Namespace's Events are in that
// namespace.
func Reference(o *metav1.PartialObjectMetadata) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	if ref.Namespace == "" {
		ref.Namespace = o.Name
	}
	return ref
}
