// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// reporter writes conditions and Events, and counts them.
type reporter struct {
	client  client.Client
	now     func() time.Time
	events  events.EventRecorder
	tracker *tracker
}

// with adds a message about changes that are not carried out to a decision. An empty text adds none.
func with(v policy.Decision, m policy.Message) policy.Decision {
	switch {
	case m.Text == "":
	case v.Deliver:
		v.Warnings = append(slices.Clip(v.Warnings), m)
	case v.Refusal.Text == "" || v.Refusal.Reason == policy.ReasonDeleting:
		v.Refusal, v.Severity = m, policy.SeverityWarning
	default:
		v.Refusal.Text += "; " + m.Text
	}
	return v
}

// recordWaiting records on a ManifestWork the event that its removal waits for, as the agent has
// reported. The Application may not exist any more.
func (rep *reporter) recordWaiting(ctx context.Context, work *decide.Work, wait decide.Wait) {
	if wait.Text == "" {
		return
	}
	ctrl.LoggerFrom(ctx).Info("cannot delete a ManifestWork yet", "cluster", work.Namespace, "work", work.Name, "cause", wait.Text)
	rep.recordOn(workReference(work), policy.Message{Reason: policy.ReasonOrphanPending, Text: wait.Text})
}

func workReference(work *decide.Work) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork", Namespace: work.Namespace, Name: work.Name, UID: work.UID}
}

// recordNotPruned records on a ManifestWork that the resources of an Application stay on the cluster.
// The hub Application had a finalizer, and no longer exists. An undo, or another client, has removed
// the finalizer.
func (rep *reporter) recordNotPruned(ctx context.Context, work *decide.Work, app types.NamespacedName) {
	text := fmt.Sprintf("hub Application %s no longer exists, and its finalizer was removed before: Application %s is removed from cluster %q, and its resources stay there; delete those that nobody needs",
		app, payload.DeliveredBy(&work.Live.Spec), work.Namespace)
	ctrl.LoggerFrom(ctx).Info("the resources of an Application stay on its cluster", "cluster", work.Namespace, "work", work.Name)
	rep.recordOn(workReference(work), policy.Message{Reason: policy.ReasonNotPruned, Text: text})
}

// recordLeft records the ManifestWorks of an Application that is released before its clusters
// have proven the end, and since when each cluster is unreachable: those that wait for their agent,
// else all.
func (rep *reporter) recordLeft(ctx context.Context, p *pass) {
	m := policy.Message{Reason: policy.ReasonOrphanPending, Text: "released before the cluster applied that the delivered Application stays; " +
		"propagation deletes these ManifestWorks later: do not delete them, or the cluster prunes everything: "}
	var pending, all []string
	for _, t := range p.plan.Fates {
		work := p.work(t.UID)
		if !t.Own || work == nil {
			continue
		}
		left := work.Namespace + "/" + work.Name
		if c := work.Cluster.State; !c.Available && !c.Since.IsZero() {
			left += " (unreachable since " + c.Since.UTC().Format(time.RFC3339) + ")"
		}
		all = append(all, left)
		if t.Act == decide.End && t.Next != decide.StepDelete {
			pending = append(pending, left)
		}
	}
	if len(pending) == 0 {
		pending, m = all, policy.Message{Reason: "Abandoned", Text: "released before the cluster confirmed the prune; " +
			"the delivered Application may be left there until the cluster returns and prunes these ManifestWorks: "}
	}
	if len(pending) == 0 {
		return
	}
	ctrl.LoggerFrom(ctx).Info("released an Application before its clusters proved the end", "reason", m.Reason, "works", pending)
	if more := len(pending) - maxNamed; more > 0 {
		pending = append(pending[:maxNamed], fmt.Sprintf("%d more, see the log", more))
	}
	m.Text += strings.Join(pending, ", ")
	rep.recordWarning(p.facts.Application, m)
}

// maxNamed is how many ManifestWorks one Event names. An Event's note has at most 1 kB.
const maxNamed = 3

func (rep *reporter) recordOn(ref *corev1.ObjectReference, m policy.Message) {
	budget.Record(rep.events, ref, m)
}

// recordInvalid records on an ApplicationSet or Namespace which changed annotation is invalid.
func (rep *reporter) recordInvalid(m *metav1.PartialObjectMetadata, changed func(key string) bool) {
	record := func(text string) {
		rep.recordOn(budget.Reference(m), policy.Message{Reason: policy.ReasonInvalidTarget, Text: text})
	}
	if changed(contract.DeletionBudgetAnnotation) {
		if _, err := decide.ParseOverride(m.Annotations[contract.DeletionBudgetAnnotation], "", rep.now()); err != nil {
			record("nothing is withdrawn: annotation " + contract.KeyPrefix + err.Error())
		}
	}
	if changed(contract.DeletionPolicyAnnotation) && m.Namespace != "" {
		if w := policy.ParseDeletionPolicy(m.Annotations[contract.DeletionPolicyAnnotation], m.Kind+" "+m.Namespace+"/"+m.Name, true); w.Problem != "" {
			record("nothing of it is delivered or withdrawn until this is corrected: " + w.Problem)
		}
	}
	if changed(contract.PausedAnnotation) {
		rep.recordBadPause(budget.Reference(m), m.Annotations[contract.PausedAnnotation], annotated)
	}
}

// These name the object with a pause in the Events of [reporter.recordBadPause].
const (
	annotated = "annotation " + contract.KeyPrefix
	claimed   = "ClusterClaim " + contract.PauseClaim + " on the managed cluster: "
)

// recordBadPause records on an object that its pause has an invalid value.
func (rep *reporter) recordBadPause(ref *corev1.ObjectReference, value, where string) {
	if p := policy.ParsePause(value, "", rep.now()); p.Problem != "" {
		rep.recordOn(ref, policy.Message{Reason: policy.ReasonInvalidTarget, Text: "delivery is paused until the value is corrected: " + where + p.Problem})
	}
}

// recordBadPausesOf records on a ManagedCluster that its annotation or claim is invalid.
func (rep *reporter) recordBadPausesOf(o client.Object) {
	ref := &corev1.ObjectReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "ManagedCluster", Name: o.GetName(), UID: o.GetUID()}
	rep.recordBadPause(ref, o.GetAnnotations()[contract.PausedAnnotation], annotated)
	if cluster, ok := o.(*clusterv1.ManagedCluster); ok {
		rep.recordBadPause(ref, appcache.PauseClaim(cluster), claimed)
	}
}

// recordEvent records a message in an Event on the Application.
func (rep *reporter) recordEvent(app *argocd.Application, f policy.Message, kind string) {
	rep.events.Eventf(app, nil, kind, f.Reason, "Deliver", "%s", f.Text)
}

func (rep *reporter) recordWarning(app *argocd.Application, f policy.Message) {
	rep.recordEvent(app, f, corev1.EventTypeWarning)
}

// updateConditions writes a decision into the Application's conditions. A new one is also recorded
// in an Event. Conditions of other writers stay.
func (rep *reporter) updateConditions(ctx context.Context, app *argocd.Application, v policy.Decision, held string) error {
	v = with(v, policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: held})
	state, reason := stateOf(v)
	rep.tracker.count(client.ObjectKeyFromObject(app), state, reason)
	current, err := appstatus.Conditions(app.Status)
	if err != nil {
		return fmt.Errorf("read status of Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	mine := isOurCondition
	if v.Withdrawn {
		mine = func(t string) bool { return isOurCondition(t) || t == request.ClaimCondition } // the next cluster starts without a claim
	}
	merged, changed := appstatus.Merge(current, mine, conditionsOf(v), rep.now())
	if !changed {
		return nil
	}
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, conditionsField(merged))
	if err != nil || patch == nil {
		return err
	}
	if err := rep.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch conditions of Application %s/%s: %w", app.Namespace, app.Name, err))
	}
	for _, f := range append([]policy.Message{v.Refusal}, v.Warnings...) {
		if f.Text != "" {
			rep.recordWarning(app, f)
			ctrl.LoggerFrom(ctx).V(1).Info("updated the conditions of the Application", "reason", f.Reason)
		}
	}
	return nil
}
