// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/ending"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// withdrawal is the works of an Application that are to end, for one reason. Every end of a
// delivery is one: deletion, label, another target, revocation, surplus, orphan alike.
type withdrawal struct {
	app    types.NamespacedName
	works  []manifestcache.Cached
	reason string
	// abandoned: the user has given up what the clusters run; the limit does not count it.
	abandoned bool
	// renamed: the Application is delivered to the same cluster under another name. Both
	// track the same resources, which a cascade would prune.
	renamed bool
	// shared: another work delivers the same Application, which stays. Neither a limit nor
	// an agent has to be asked.
	shared bool
	// confirm reads again, from the API server, what the withdrawal rests on; nil: it has
	// been read.
	confirm func(context.Context) (bool, error)
}

// outcome is what came of a withdrawal.
type outcome struct {
	// held: the limit or a pause keeps something, or what it rests on has changed.
	held bool
	// pause keeps something, the zero one for none.
	pause policy.Pause
	// pending wait for their agent to apply how they end.
	pending []manifestcache.Cached
	// refusal is what an agent reports that cannot apply that.
	refusal string
	// problem says which annotation cannot be followed.
	problem string
	// after is when to look again, 0 for not by the clock.
	after time.Duration
}

func (o outcome) done() bool { return !o.held && len(o.pending) == 0 }

// of leaves out of what is waited for the works that are not proven: an agent can have any
// work of its cluster name an Application.
func (o outcome) of(proven []manifestcache.Cached) outcome {
	o.pending = slices.DeleteFunc(slices.Clone(o.pending), func(w manifestcache.Cached) bool {
		return !slices.ContainsFunc(proven, func(p manifestcache.Cached) bool { return p.UID == w.UID })
	})
	return o
}

// withdraw ends works as they were seen: one that has changed since is looked at again. It
// returns what is kept and what waits for its agent; the guard enqueues the Application
// again for what it keeps.
func (en *ender) withdraw(ctx context.Context, w withdrawal) (o outcome, err error) {
	app, err := en.application(ctx, w.app)
	if err != nil {
		return o, err
	}
	var free []*manifestcache.Cached
	for i := range w.works {
		work := &w.works[i]
		if work.DeletionTimestamp != nil {
			continue
		}
		pause, err := en.pauseOn(ctx, app, groupOf(work), work.Namespace, policy.ActOf(w.reason))
		if err != nil {
			return o, err
		}
		if pause.Word != "" {
			o.held, o.pause, o.after = true, policy.StrongestPause(o.pause, pause), sooner(o.after, pause.Left(en.now()))
			continue
		}
		if may, err := en.allowed(ctx, w, app, work); err != nil || !may {
			o.held = true
			if err != nil {
				return o, err
			}
			continue
		}
		free = append(free, work)
	}
	if len(free) == 0 {
		return o, nil
	}
	if w.confirm != nil {
		if yes, err := w.confirm(ctx); err != nil || !yes {
			return outcome{held: true}, err
		}
	}
	for _, work := range free {
		if err := en.end(ctx, w, app, work, &o); err != nil {
			return o, err
		}
	}
	if len(o.pending) > 0 {
		o.after = sooner(o.after, afterPending)
	}
	return o, nil
}

// allowed reports whether the limit on withdrawals lets a work go. It is not asked when
// nothing is lost, or when OCM removes the works of a leaving cluster whatever we do. A
// cluster that is not there at all may only have not been restored yet.
func (en *ender) allowed(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Cached) (bool, error) {
	if w.shared || w.abandoned {
		return true, nil
	}
	stays, err := en.stays(ctx, app, work)
	if err != nil {
		return false, err
	}
	if stays {
		d, err := en.decisionOn(ctx, groupOf(work), revokes(w.reason))
		if err != nil || d.Word != guard.Hold && d.Word != guard.Undo {
			return err == nil, err
		}
	}
	cluster, err := getCluster(ctx, en.client, work.Namespace)
	if err != nil || cluster != nil && cluster.DeletionTimestamp != nil {
		return err == nil, err
	}
	return en.withdrawals.note(w.app, work, true, revokes(w.reason), en.now()), nil
}

// end does the next step of the end of a work that may go, and adds to o what it waits for.
func (en *ender) end(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Cached, o *outcome) error {
	if w.shared {
		return en.deleteWork(ctx, work, w.reason, false)
	}
	cluster, err := getCluster(ctx, en.client, work.Namespace)
	if err != nil {
		return err
	}
	e, problem, err := en.endingOf(ctx, w, app, work)
	if err != nil {
		return err
	}
	if problem != "" {
		o.pending, o.problem = append(o.pending, *work), cmp.Or(o.problem, problem)
		return nil
	}
	facts := ending.Facts{
		ClusterLeaving: cluster == nil || cluster.DeletionTimestamp != nil,
		Observes:       work.Annotations[contract.ObservedAnnotation] != "",
		Finalized:      true, // until it is read
		Leaves:         e.Orphan || !slices.ContainsFunc(e.Finalizers, isArgoFinalizer),
		Abandoned:      w.abandoned,
	}
	if ending.Next(facts) == ending.Delete {
		return en.deleteWork(ctx, work, w.reason, facts.Leaves) // whatever the API server has of it
	}
	live, err := en.liveWork(ctx, client.ObjectKeyFromObject(work))
	if err != nil || live == nil {
		return err
	}
	spec, says, err := payload.EndingOf(live, e)
	if err != nil {
		return fmt.Errorf("end ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	facts.Finalized, facts.Says, facts.Applied = slices.Contains(live.Finalizers, workv1.ManifestWorkFinalizer), says, appliedAt(live)
	switch ending.Next(facts) {
	case ending.Delete:
		return en.deleteWork(ctx, work, w.reason, facts.Leaves)
	case ending.Write:
		if err := en.writeEnding(ctx, live, spec, e); err != nil {
			return err
		}
	case ending.Wait:
		if facts.Applied == metav1.ConditionFalse {
			o.refusal = cmp.Or(o.refusal, meta.FindStatusCondition(live.Status.Conditions, workv1.WorkApplied).Message)
		}
	}
	o.pending = append(o.pending, *work)
	return nil
}

// endingOf returns how a work has to end: as its Application, its ApplicationSet, or what
// they said last has it. problem names an annotation that cannot be followed.
func (en *ender) endingOf(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Cached) (e payload.Ending, problem string, err error) {
	act := policy.ActOf(w.reason)
	wish, err := en.onWithdraw(ctx, app, groupOf(work))
	if err != nil {
		return e, "", err
	}
	if wish.Problem != "" {
		if policy.MayDelay(policy.OnApplication, act) {
			return e, wish.Problem, nil
		}
		wish = policy.OnWithdraw{} // a slip of the tenant does not stop a revocation
	}
	e.Orphan = cmp.Or(wish.Word, work.Annotations[contract.OnWithdrawAnnotation]) == payload.WithdrawOrphan
	switch {
	case !e.Orphan && app != nil && !w.renamed:
		e.Finalizers = payload.DeliveredFinalizers(app)
	case e.Orphan && act == policy.Revoke:
		e.WithoutAutomation = true
	case e.Orphan && app != nil && work.Annotations[contract.PausedAnnotation] != "" && manifestcache.OmittedSpec(app.Spec) == 0:
		pause, err := en.pauseOf(ctx, app)
		if err != nil || pause.Word == policy.PauseSync {
			return e, "", err
		}
		if spec, err := payload.Redirect(app.Spec, app.Annotations); err == nil {
			e.Spec = spec // automation that the pause took out; a spec that is none is refused elsewhere
		}
	}
	return e, "", nil
}

// writeEnding writes into a work how it ends.
func (wr *writer) writeEnding(ctx context.Context, live *workv1.ManifestWork, spec *workv1.ManifestWorkSpec, e payload.Ending) error {
	patch, err := payload.EndPatch(live, spec, e.Orphan)
	if err != nil {
		return err
	}
	if _, err := wr.patchWork(ctx, appcache.Compact(live), patch); err != nil {
		return err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("wrote into a ManifestWork how it ends", "cluster", live.Namespace, "work", live.Name, "orphan", e.Orphan, "finalizers", e.Finalizers)
	return nil
}

func (wr *writer) deleteWork(ctx context.Context, work *manifestcache.Cached, reason string, leaves bool) error {
	err := wr.client.Delete(ctx, work.DeepCopy(), client.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	worksWithdrawn.WithLabelValues(reason).Inc()
	ctrl.LoggerFrom(ctx).Info("withdrew ManifestWork", "cluster", work.Namespace, "work", work.Name, "reason", reason, "stays", leaves)
	return nil
}

// onWithdraw returns what an Application, which is nil when it is gone, or else its
// ApplicationSet says about the end of its delivery.
func (f *gatherer) onWithdraw(ctx context.Context, app *argocd.Application, g guard.Group) (policy.OnWithdraw, error) {
	if app != nil {
		if w := policy.ParseOnWithdraw(app.Annotations[contract.OnWithdrawAnnotation], "Application "+app.Namespace+"/"+app.Name); w.Says() {
			return w, nil
		}
	}
	if g.Set == "" {
		return policy.OnWithdraw{}, nil
	}
	set := argocd.ApplicationSetMetadata()
	if err := f.decisionObject(ctx, set, client.ObjectKey{Namespace: g.Namespace, Name: g.Set}); err != nil {
		return policy.OnWithdraw{}, err
	}
	if set.UID == "" { // its Applications are about to go with it
		return policy.OnWithdraw{AsBefore: true}, nil
	}
	return policy.ParseOnWithdraw(set.Annotations[contract.OnWithdrawAnnotation], argocd.ApplicationSetKind+" "+g.Namespace+"/"+g.Set), nil
}

// stays reports whether what a work delivers is to stay when it is withdrawn; app is nil
// when it is gone.
func (f *gatherer) stays(ctx context.Context, app *argocd.Application, work *manifestcache.Cached) (bool, error) {
	if work.Annotations[contract.ObservedAnnotation] != "" {
		return true, nil
	}
	wish, err := f.onWithdraw(ctx, app, groupOf(work))
	return wish.Problem == "" && cmp.Or(wish.Word, work.Annotations[contract.OnWithdrawAnnotation]) == payload.WithdrawOrphan, err
}

func revokes(reason string) bool { return policy.ActOf(reason) == policy.Revoke }

// decision is what is reported of a withdrawal that waits for agents.
func (o outcome) decision() policy.Decision {
	if o.problem != "" {
		return policy.Refuse(policy.ReasonInvalidTarget, "nothing is withdrawn: %s", o.problem)
	}
	v := policy.Refuse(policy.ReasonOrphanPending,
		"not withdrawn yet: waiting for %s to apply how it ends (finalizers, annotation %s); if the cluster will not come back, set annotation %s to \"true\"",
		strings.Join(places(o.pending), ", "), contract.OnWithdrawAnnotation, contract.AbandonAnnotation)
	if o.refusal != "" {
		v.Refusal.Text += fmt.Sprintf("; it reports: %.300s", o.refusal)
	}
	v.Severity = policy.SeverityWarning
	return v
}

// recordOrphansPending records that an Application was released before its clusters applied
// that what they run stays: the works go once they have, which the sweep sees to.
func (rep *reporter) recordOrphansPending(ctx context.Context, app *argocd.Application, works []manifestcache.Cached) {
	names := places(works)
	ctrl.LoggerFrom(ctx).Info("released an Application before its clusters applied that what they run stays", "works", names)
	if more := len(names) - maxReceipt; more > 0 {
		names = append(names[:maxReceipt], fmt.Sprintf("%d more, see the log", more))
	}
	rep.recordWarning(app, policy.Message{Reason: policy.ReasonOrphanPending, Text: fmt.Sprintf(
		"released before %s applied that what it runs stays; propagation deletes the ManifestWork once it has: do not delete it earlier, or the cluster prunes everything", strings.Join(names, ", "))})
}

// foresee notes works that will have to be withdrawn unless something comes back in time,
// so that the guard counts the whole damage when the first has to.
func (en *ender) foresee(app types.NamespacedName, works []manifestcache.Cached, reason string) {
	for i := range works {
		if works[i].DeletionTimestamp == nil && works[i].Annotations[contract.OnWithdrawAnnotation] == "" {
			en.withdrawals.note(app, &works[i], false, revokes(reason), en.now())
		}
	}
}
