// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/ending"
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
	works  []*manifestcache.Work
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
	pending []*manifestcache.Work
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
func (o outcome) of(proven []*manifestcache.Work) outcome {
	o.pending = slices.DeleteFunc(slices.Clone(o.pending), func(w *manifestcache.Work) bool {
		return !slices.ContainsFunc(proven, func(p *manifestcache.Work) bool { return p.UID == w.UID })
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
	var free []*manifestcache.Work
	for _, work := range w.works {
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
		may, after, err := en.allowed(ctx, w, app, work)
		if err != nil || !may {
			o.held, o.after = true, sooner(o.after, after)
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
// cluster that is not there at all may only have not been restored yet. It returns when to look
// again, 0 for not by the clock.
func (en *ender) allowed(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Work) (may bool, after time.Duration, err error) {
	if w.shared || w.abandoned {
		return true, 0, nil
	}
	stays, err := en.stays(ctx, app, work)
	if err != nil {
		return false, 0, err
	}
	if stays {
		d, err := en.decisionOn(ctx, groupOf(work), revokes(w.reason))
		if err != nil || !d.Word.Keeps() {
			return err == nil, 0, err
		}
	}
	cluster, err := getCluster(ctx, en.client, work.Namespace)
	if err != nil || cluster != nil && cluster.DeletionTimestamp != nil {
		return err == nil, 0, err
	}
	return en.note(ctx, w.app, app, []*manifestcache.Work{work}, w.reason, true)
}

// end does the next step of the end of a work that may go, and adds to o what it waits for.
func (en *ender) end(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Work, o *outcome) error {
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
		o.pending, o.problem = append(o.pending, work), cmp.Or(o.problem, problem)
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
	proof := payload.ProofOf(live, e)
	facts.Proven = proof.Done()
	switch ending.Next(facts) {
	case ending.Delete:
		return en.deleteWork(ctx, work, w.reason, facts.Leaves)
	case ending.Write:
		if err := en.writeEnding(ctx, live, spec, e); err != nil {
			return err
		}
	case ending.Wait:
		o.refusal = cmp.Or(o.refusal, en.refusalOf(ctx, live, facts, proof))
	}
	o.pending = append(o.pending, work)
	return nil
}

// refusalOf returns what keeps an agent that has reported from ending a work as it has to:
// a finalizer with which Argo CD would still prune, or an automation; empty for nothing.
func (en *ender) refusalOf(ctx context.Context, live *workv1.ManifestWork, facts ending.Facts, proof payload.Proof) string {
	if facts.Applied == metav1.ConditionFalse {
		return meta.FindStatusCondition(live.Status.Conditions, workv1.WorkApplied).Message
	}
	app, text := payload.DeliveredBy(&live.Spec), ""
	switch {
	case facts.Applied == "":
	case proof.Finalizer != "":
		text = fmt.Sprintf("Application %s on cluster %q has finalizer %s of another field manager, with which Argo CD would prune what is to stay: remove it there, and the ManifestWork goes",
			app, live.Namespace, proof.Finalizer)
	case proof.Manager != "":
		text = fmt.Sprintf("Application %s on cluster %q has spec.syncPolicy.automated of field manager %s, with which it would go on syncing: remove it there, and the ManifestWork goes",
			app, live.Namespace, proof.Manager)
	}
	if text == "" {
		return ""
	}
	ctrl.LoggerFrom(ctx).Info("cannot delete a ManifestWork yet", "cluster", live.Namespace, "work", live.Name, "cause", text)
	en.recordOn(&corev1.ObjectReference{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork", Namespace: live.Namespace, Name: live.Name, UID: live.UID},
		policy.Message{Reason: policy.ReasonOrphanPending, Text: text}) // its Application may be gone
	return text
}

// endingOf returns how a work has to end: as its Application, its ApplicationSet, or what
// they said last has it. problem names an annotation that cannot be followed.
func (en *ender) endingOf(ctx context.Context, w withdrawal, app *argocd.Application, work *manifestcache.Work) (e payload.Ending, problem string, err error) {
	act := policy.ActOf(w.reason)
	wish, err := en.deletionPolicy(ctx, app, groupOf(work))
	if err != nil {
		return e, "", err
	}
	if wish.Problem != "" {
		if policy.MayDelay(policy.OnApplication, act) {
			return e, wish.Problem, nil
		}
		wish = policy.DeletionPolicy{} // a slip of the tenant does not stop a revocation
	}
	e.Orphan = cmp.Or(wish.Word, work.Annotations[contract.OnWithdrawAnnotation]) == payload.DeletionOrphan
	switch {
	case !e.Orphan && app != nil && !w.renamed:
		e.Finalizers = payload.DeliveredFinalizers(app)
	case e.Orphan && act == policy.Revoke:
		e.WithoutAutomation = true
	case e.Orphan && app != nil && work.Annotations[contract.PausedAnnotation] != "":
		pause, err := en.pauseOf(ctx, app)
		if err != nil {
			return e, "", err
		}
		e.Resume = pause.Word != policy.PauseSync
	}
	return e, "", nil
}

func revokes(reason string) bool { return policy.ActOf(reason) == policy.Revoke }

// decision is what is reported of a withdrawal that waits for agents.
func (o outcome) decision() policy.Decision {
	if o.problem != "" {
		return policy.Refuse(policy.ReasonInvalidTarget, "nothing is withdrawn: %s", o.problem)
	}
	v := policy.Refuse(policy.ReasonOrphanPending,
		"not withdrawn yet: waiting for %s to apply how it ends (finalizers, annotation %s); if the cluster will not come back, add %s to that annotation",
		strings.Join(places(o.pending), ", "), contract.DeletionPolicyAnnotation, payload.DeletionAbandon)
	if o.refusal != "" {
		v.Refusal.Text += fmt.Sprintf("; it reports: %.300s", o.refusal)
	}
	v.Severity = policy.SeverityWarning
	return v
}

// note notes that works are to end for a reason, at once when due, and returns whether they may.
// Those that are not due will have to unless something comes back in time: the budget counts the
// whole damage when the first has to. What an operator has decided ends after some time, 0 for
// never.
func (en *ender) note(ctx context.Context, key types.NamespacedName, app *argocd.Application, works []*manifestcache.Work, reason string, due bool) (may bool, after time.Duration, err error) {
	for _, work := range works {
		if !due && (work.DeletionTimestamp != nil || work.Annotations[contract.OnWithdrawAnnotation] != "") {
			continue
		}
		d, err := en.decisionOn(ctx, groupOf(work), revokes(reason))
		if err != nil {
			return false, 0, err
		}
		if !d.Until.IsZero() {
			after = sooner(after, max(d.Until.Sub(en.now()), time.Millisecond))
		}
		group := ownerOf(app, work)
		fate := decide.Fate{UID: work.UID, Own: true, Why: decide.Why(reason), Lane: laneOf(group, work, reason), Ruling: d, Due: due}
		if due {
			fate.Act = decide.End
		}
		may = en.budget.Note(key, group, fate)
	}
	return may, after, nil
}

// laneOf returns the lane in which the end of a work is counted.
func laneOf(group decide.Group, work *manifestcache.Work, reason string) decide.Lane {
	switch {
	case reason == policy.ReasonLocalCluster: // an agent can set that label
		return decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: work.Namespace}}
	case revokes(reason):
		return decide.Lane{Kind: decide.Admin, Group: group}
	}
	return decide.Lane{Kind: decide.Tenant, Group: group}
}

// ender ends ManifestWorks, see [ender.withdraw].
type ender struct {
	*gatherer
	*writer
	*reporter
	gracePeriods gracePeriods
}

// changed is the error of a look that found the cache to be behind.
func (en *ender) changed(app *argocd.Application) error {
	return apierrors.NewConflict(argocd.GroupVersion.WithResource(argocd.ApplicationPlural).GroupResource(), app.Name, nil)
}

// withdrawOld withdraws what an earlier wish left behind once the present one is applied:
// an Application that waits, or is refused, keeps its copy on a former target, so that
// there is no gap, unless its namespace may not use that cluster any more.
// It returns when to look again, 0 for not by the clock.
func (en *ender) withdrawOld(ctx context.Context, app *argocd.Application, c copies, delivered bool) (time.Duration, error) {
	if delivered && len(c.elsewhere)+len(c.former)+len(c.surplus) > 0 {
		applied, err := en.currentApplied(ctx, c)
		if err != nil {
			return 0, err
		}
		if applied {
			return en.withdrawFormer(ctx, app, c)
		}
	}
	var unbound []*manifestcache.Work
	var wait time.Duration
	for _, work := range c.elsewhere {
		if work.DeletionTimestamp != nil {
			continue
		}
		lost, left, err := en.lostBinding(ctx, app, work.Namespace)
		if err != nil {
			return 0, err
		}
		switch {
		case lost:
			unbound = append(unbound, work)
		case left > 0:
			if _, _, err := en.note(ctx, client.ObjectKeyFromObject(app), app, []*manifestcache.Work{work}, policy.ReasonNotBound, false); err != nil {
				return 0, err
			}
		}
		wait = sooner(wait, left)
	}
	after, err := en.withdrawVerified(ctx, app, withdrawal{app: client.ObjectKeyFromObject(app), works: unbound, reason: policy.ReasonNotBound})
	return sooner(wait, after), err
}

// lostBinding reports whether an Application's namespace has not been bound to a
// cluster for the whole grace period, by the cache and by the API server; left is what
// remains of the grace period.
func (en *ender) lostBinding(ctx context.Context, app *argocd.Application, cluster string) (lost bool, left time.Duration, err error) {
	if en.options.Binding == BindingNone {
		return false, 0, nil
	}
	key := client.ObjectKeyFromObject(app)
	if yes, err := bound(ctx, cached(en.client), app.Namespace, cluster); err != nil || yes {
		en.gracePeriods.found(key, cluster)
		return false, 0, err
	}
	if left := en.options.BindingGrace - en.gracePeriods.missing(key, cluster, en.now()); left > 0 {
		return false, left, nil
	}
	yes, err := bound(ctx, uncached(en.live), app.Namespace, cluster)
	return !yes, 0, err
}

// withdrawFormer withdraws all but the current work, which is applied.
func (en *ender) withdrawFormer(ctx context.Context, app *argocd.Application, c copies) (after time.Duration, err error) {
	key := client.ObjectKeyFromObject(app)
	for _, w := range []withdrawal{
		{app: key, works: c.elsewhere, reason: withdrawnRetargeted},
		{app: key, works: c.former, reason: withdrawnRetargeted, renamed: true},
		{app: key, works: c.surplus, reason: withdrawnReplaced, shared: true},
	} {
		wait, failed := en.withdrawVerified(ctx, app, w)
		after, err = sooner(after, wait), errors.Join(err, failed)
	}
	return after, err
}

// withdrawVerified withdraws works on account of an Application as the cache has it, once
// the API server has it so, too. It returns when to look again, 0 for not by the clock.
func (en *ender) withdrawVerified(ctx context.Context, app *argocd.Application, w withdrawal) (time.Duration, error) {
	w.confirm = func(ctx context.Context) (bool, error) {
		fresh := &argocd.Application{}
		if err := en.live.Get(ctx, w.app, fresh); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if fresh.ResourceVersion != app.ResourceVersion {
			return false, en.changed(app)
		}
		return true, nil
	}
	o, err := en.withdraw(ctx, w)
	return o.after, err
}
