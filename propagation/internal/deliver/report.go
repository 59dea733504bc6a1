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
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// reporter writes conditions and Events, and counts them.
type reporter struct {
	client  client.Client
	options Options
	now     func() time.Time
	events  events.EventRecorder
	tracker *tracker
}

// recordAbandoned records what a released Application may have left on clusters, by an Event on the
// former Application and a log line. The works stay in deletion until their cluster returns and
// prunes, or until the cluster is removed.
func (rep *reporter) recordAbandoned(ctx context.Context, app *argocd.Application, works []*manifestcache.Work) error {
	left := strings.Join(rep.contents(ctx, app), ", ")
	var lines []string
	for _, work := range works {
		cluster, err := readObject(ctx, rep.client, client.ObjectKey{Name: work.Namespace}, &clusterv1.ManagedCluster{})
		if err != nil {
			return err
		}
		availability := "is available"
		if state := status.ClusterOf(work.Namespace, cluster); !state.Available {
			availability = "has not been available"
			if !state.Since.IsZero() {
				availability += " since " + state.Since.UTC().Format(time.RFC3339)
			}
		}
		lines = append(lines, fmt.Sprintf("cluster %q, which %s (ManifestWork %s)", work.Namespace, availability, work.Name))
		ctrl.LoggerFrom(ctx).Info("released an Application before its cluster confirmed the prune", "cluster", work.Namespace, "work", work.Name, "left", left, "state", availability)
	}
	if len(lines) == 0 {
		return nil
	}
	if more := len(lines) - maxReceipt; more > 0 {
		lines = append(lines[:maxReceipt], fmt.Sprintf("and %d more, see the log", more))
	}
	rep.recordWarning(app, policy.Message{Reason: "Abandoned", Text: fmt.Sprintf(
		"released before the cluster confirmed the prune: %s and what they deployed may be left on %s; its ManifestWork stays in deletion, so that a cluster that returns prunes them",
		left, strings.Join(lines, "; "))})
	return nil
}

// contents names what is delivered with an Application, according to the cache.
func (rep *reporter) contents(ctx context.Context, app *argocd.Application) []string {
	there := payload.DeliveredName(app)
	left := []string{"Application " + there.String()}
	if rep.options.Namespace {
		left = append(left, "Namespace "+there.Namespace)
	}
	if !rep.options.Project || payload.ProjectName(app) == argocd.DefaultProject {
		return left
	}
	// An AppProject that cannot be read may have been delivered.
	if project, err := readProject(ctx, rep.client, rep.options.ArgoCDNamespace, payload.ProjectName(app)); err != nil || project != nil {
		left = append(left, "AppProject "+payload.ProjectNamespace(app, rep.options.ArgoCDNamespace)+"/"+payload.ProjectName(app))
	}
	return left
}

// recordOrphansPending records that an Application was released before its clusters applied the
// orphan policy. The sweep deletes the works once the clusters have.
func (rep *reporter) recordOrphansPending(ctx context.Context, app *argocd.Application, works []*manifestcache.Work) {
	names := places(works)
	ctrl.LoggerFrom(ctx).Info("released an Application before its clusters applied that what they run stays", "works", names)
	if more := len(names) - maxReceipt; more > 0 {
		names = append(names[:maxReceipt], fmt.Sprintf("%d more, see the log", more))
	}
	rep.recordWarning(app, policy.Message{Reason: policy.ReasonOrphanPending, Text: fmt.Sprintf(
		"released before %s applied that what it runs stays; propagation deletes the ManifestWork once it has: do not delete it earlier, or the cluster prunes everything", strings.Join(names, ", "))})
}

// withHeld adds to a decision what the budget holds.
func withHeld(v policy.Decision, held string) policy.Decision {
	if held == "" {
		return v
	}
	m := policy.Message{Reason: policy.ReasonWithdrawalHeld, Text: held}
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

// recordWaiting records on a ManifestWork what its removal waits for, as the agent has reported.
// The Application may not exist any more.
func (rep *reporter) recordWaiting(ctx context.Context, work *decide.Work, wait decide.Wait) {
	if wait.Text == "" {
		return
	}
	ctrl.LoggerFrom(ctx).Info("cannot delete a ManifestWork yet", "cluster", work.Namespace, "work", work.Name, "cause", wait.Text)
	rep.recordOn(&corev1.ObjectReference{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork", Namespace: work.Namespace, Name: work.Name, UID: work.UID},
		policy.Message{Reason: policy.ReasonOrphanPending, Text: wait.Text})
}

// recordLeft records what a released Application may have left on clusters.
func (rep *reporter) recordLeft(ctx context.Context, p *pass) error {
	var pending, proven []*manifestcache.Work
	for _, t := range p.plan.Fates {
		work := p.work(t.UID)
		if !t.Own || work == nil {
			continue
		}
		if proven = append(proven, work.Work); t.Act == decide.End && t.Next != decide.StepDelete {
			pending = append(pending, work.Work)
		}
	}
	if len(pending) > 0 {
		rep.recordOrphansPending(ctx, p.facts.Application, pending)
		return nil
	}
	return rep.recordAbandoned(ctx, p.facts.Application, proven)
}

// places names works in a message.
func places(works []*manifestcache.Work) []string {
	names := make([]string, 0, len(works))
	for _, work := range works {
		names = append(names, fmt.Sprintf("cluster %q (ManifestWork %s)", work.Namespace, work.Name))
	}
	return names
}

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

// These name the place of a pause in the Events of [reporter.recordBadPause].
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
	v = withHeld(v, held)
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

// maxReceipt is how many works one receipt lists. The note of an Event has 1 kB at most.
const maxReceipt = 3
