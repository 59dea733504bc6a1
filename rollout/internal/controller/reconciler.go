// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/rollout/internal/step"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// Conditions of an ApplicationSetRollout.
const (
	readyCondition       = "Ready"
	progressingCondition = "Progressing"
)

// The distance between two looks at a rollout grows with its clusters: feedback comes in
// bursts, and each look reads all of it.
const (
	settle        = 100 * time.Millisecond
	settleCluster = 200 * time.Microsecond
)

// Reconciler writes the status of ApplicationSetRollouts.
type Reconciler struct {
	*gatherer
	events events.EventRecorder
	now    func() time.Time

	mu sync.Mutex
	// looked is when a rollout was last looked at. It is a rate, not state.
	looked map[types.NamespacedName]time.Time
}

// Reconcile takes the next step of one rollout.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ro := &rollout.ApplicationSetRollout{}
	if err := r.client.Get(ctx, req.NamespacedName, ro, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get ApplicationSetRollout %s: %w", req.NamespacedName, err)
	}
	if left := r.wait(req.NamespacedName, ro.Status.Counts.Total); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	next, again, err := r.next(ctx, ro)
	if err != nil {
		return ctrl.Result{}, err
	}
	observe(ro, &next)
	if equality.Semantic.DeepEqual(ro.Status, next) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	written := &rollout.ApplicationSetRollout{TypeMeta: ro.TypeMeta, ObjectMeta: *ro.ObjectMeta.DeepCopy(), Spec: *ro.Spec.DeepCopy(), Status: next}
	if err := r.client.Status().Update(ctx, written); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
		}
		return ctrl.Result{}, fmt.Errorf("write status of ApplicationSetRollout %s: %w", req.NamespacedName, err)
	}
	r.record(ctx, written, &ro.Status)
	return ctrl.Result{RequeueAfter: again}, nil
}

// wait returns how long a look is too early.
func (r *Reconciler) wait(key types.NamespacedName, clusters int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := settle + time.Duration(clusters)*settleCluster - r.now().Sub(r.looked[key]); left > 0 {
		return left
	}
	r.looked[key] = r.now()
	return 0
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.looked, key)
	unobserve(key)
}

// next returns the status that follows.
func (r *Reconciler) next(ctx context.Context, ro *rollout.ApplicationSetRollout) (rollout.Status, time.Duration, error) {
	status := *ro.Status.DeepCopy()
	status.ObservedGeneration = ro.Generation
	p, err := r.refuses(ctx, ro)
	if err != nil {
		return status, 0, err
	}
	if p != nil && p.reason != noSet {
		return r.refused(ro, status, p), 0, nil
	}
	in := step.Input{Spec: ro.Spec, Status: status, Now: r.now()}
	if in.Groups, err = r.groups(ctx, ro); err != nil {
		return status, 0, err
	}
	var q *problem
	if in.Clusters, q, err = r.clusters(ctx, ro); err != nil {
		return status, 0, err
	}
	if q != nil {
		return r.refused(ro, status, q), 0, nil
	}
	var wrong error
	if in.Approved, in.Aborted, wrong = word(ro.Annotations[rollout.WordAnnotation]); wrong != nil {
		p = &problem{"InvalidAnnotation", wrong.Error()}
	}
	status, again, err := step.Next(in)
	if err != nil {
		return status, 0, err
	}
	meta.SetStatusCondition(&status.Conditions, ready(ro, &status, in.Clusters, p))
	progressing := metav1.Condition{Type: progressingCondition, Status: metav1.ConditionFalse, Reason: string(status.Phase), Message: status.Message, ObservedGeneration: ro.Generation}
	if status.Phase == rollout.Progressing || status.Phase == rollout.RollingBack {
		progressing.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&status.Conditions, progressing)
	return status, again, nil
}

// ready returns whether a bad commit would stop at the first group, and why not.
func ready(ro *rollout.ApplicationSetRollout, s *rollout.Status, clusters map[string]step.Cluster, p *problem) metav1.Condition {
	if p == nil && s.Promoted == nil {
		p = &problem{"NothingPromoted", "not every cluster runs the same, or has been given anything: until a first rollout is through, nothing can be taken back"}
	}
	if p == nil {
		// A change that is on its way later is of a work that is pinned before and after it.
		was := meta.IsStatusConditionTrue(ro.Status.Conditions, readyCondition)
		if names := step.Unpinned(clusters, s, was); len(names) > 0 {
			p = &problem{"NotPinned", "what is promoted is on its way, and these still follow the branch: " + step.Few(names)}
		}
	}
	c := metav1.Condition{Type: readyCondition, Status: metav1.ConditionTrue, Reason: "Ready", Message: "what is promoted is known", ObservedGeneration: ro.Generation}
	if p != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.reason, p.message
	}
	return c
}

// refused returns the status of a rollout that cannot work. What it holds stays held.
func (r *Reconciler) refused(ro *rollout.ApplicationSetRollout, status rollout.Status, p *problem) rollout.Status {
	status.Message = p.message
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: readyCondition, Status: metav1.ConditionFalse, Reason: p.reason, Message: p.message, ObservedGeneration: ro.Generation})
	return status
}

// noSet is the reason of a rollout whose ApplicationSet is not there: it goes on, with no
// clusters.
const noSet = "ApplicationSetNotFound"

// refuses returns why a rollout must not work, nil when it may.
func (r *Reconciler) refuses(ctx context.Context, ro *rollout.ApplicationSetRollout) (*problem, error) {
	if err := step.Validate(&ro.Spec); err != nil {
		return &problem{"InvalidSpec", err.Error()}, nil //nolint:nilerr // its author can mend it, and the status says so
	}
	var list rollout.ApplicationSetRolloutList
	if err := r.client.List(ctx, &list, client.InNamespace(ro.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ApplicationSetRollouts in %s: %w", ro.Namespace, err)
	}
	if other := rollout.Governing(list.Items, ro.Namespace, ro.Spec.ApplicationSet); other != nil && other.UID != ro.UID {
		return &problem{"Conflict", fmt.Sprintf("ApplicationSetRollout %s is older and is about the same ApplicationSet: delete one of them", other.Name)}, nil
	}
	set := applicationSet()
	err := r.cache.Get(ctx, client.ObjectKey{Namespace: ro.Namespace, Name: ro.Spec.ApplicationSet}, set)
	if apierrors.IsNotFound(err) {
		return &problem{noSet, fmt.Sprintf("there is no ApplicationSet %s in namespace %s: correct spec.applicationSet, or create it", ro.Spec.ApplicationSet, ro.Namespace)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ApplicationSet %s/%s: %w", ro.Namespace, ro.Spec.ApplicationSet, err)
	}
	if strategy, _, _ := unstructured.NestedString(set.Object, "spec", "strategy", "type"); strategy == "RollingSync" {
		return &problem{"RollingSync", fmt.Sprintf("ApplicationSet %s has spec.strategy RollingSync, which syncs Applications by itself: remove one of the two", ro.Spec.ApplicationSet)}, nil
	}
	return nil, nil
}

// record says in an Event and in the log what has become of a rollout.
func (r *Reconciler) record(ctx context.Context, ro *rollout.ApplicationSetRollout, before *rollout.Status) {
	is, was := ro.Status.Phase, before.Phase
	replaced := ro.Status.Candidate != nil && (before.Candidate == nil || before.Candidate.Number != ro.Status.Candidate.Number)
	if is == was && !replaced {
		return
	}
	kind, reason := corev1.EventTypeNormal, string(is)
	if is == rollout.Halted || is == rollout.RollingBack {
		kind = corev1.EventTypeWarning
	}
	if is == rollout.Idle && was != "" {
		reason = "Promoted"
	}
	finished(reason)
	ctrl.LoggerFrom(ctx).Info("rollout", "phase", is, "before", was, "message", ro.Status.Message)
	r.events.Eventf(ro, nil, kind, reason, "Rollout", "%s", ro.Status.Message)
}
