// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters,verbs=patch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters/status,verbs=patch

// Reconciler reconciles all GitOpsClusters in one pass, because the owner of a cluster depends on all of
// them.
type Reconciler struct {
	client      client.Client
	live        client.Reader
	options     Options
	gate        *Gate
	assignments *Assignments
	// agents installs argocd-agent on clusters. It is nil if clusters are registered only.
	agents *agents.Reconciler
	status *statusWriter
	queue  enqueue.Queue
	// known has the GitOpsClusters of the last pass, by name and UID.
	known map[types.NamespacedName]types.UID
	// since has, for existing clusters that are not selected, the time of that discovery. Only one worker uses
	// it.
	since map[types.NamespacedName]map[string]time.Time
	// confirmed are the GitOpsClusters that can be deleted without further confirmation.
	confirmed map[types.NamespacedName]bool
	// waits are the GitOpsClusters with a deletion that waits for a confirmation.
	waits map[types.NamespacedName]wait
	// failing has the time since which every pass fails for a GitOpsCluster.
	failing failures
}

// everyGitOpsCluster is the request for a pass.
var everyGitOpsCluster = reconcile.Request{NamespacedName: types.NamespacedName{Name: "gitopsclusters"}}

// pass enqueues a pass.
func (r *Reconciler) pass() { r.queue.Add(everyGitOpsCluster) }

// member is a GitOpsCluster in a pass.
type member struct {
	object *v1beta1.GitOpsCluster
	found
	// desired are the clusters that should have its Secret or agent. holds are the clusters that should
	// have its Secret, with the clusters that have an agent which is not removed yet.
	desired, holds map[string]bool
	decision       intent.Decision
	// unconfirmed are the clusters for which the user has to confirm the removal before the
	// GitOpsCluster is deleted.
	unconfirmed []string
	// err is the error because of which the GitOpsCluster, or some of its clusters, do not change in this
	// pass.
	err error
}

// Reconcile reconciles all GitOpsClusters.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !r.gate.open.Load() {
		return ctrl.Result{}, nil // the gate enqueues a pass when it opens
	}
	all, err := r.observe(ctx)
	if err != nil {
		return requeueOnConflict(err)
	}
	plan, failed := agents.Off, error(nil)
	if r.agents != nil {
		specs := make([]agents.Spec, 0, len(all))
		for _, x := range all {
			specs = append(specs, x.spec())
		}
		if plan, failed = r.agents.MakePlan(ctx, specs); plan == nil {
			return ctrl.Result{}, failed
		}
	}
	if err := r.assign(ctx, all, plan); err != nil {
		return ctrl.Result{}, errors.Join(failed, err)
	}
	after := plan.After
	for _, x := range all {
		result, err := r.finish(ctx, x, plan)
		failed = errors.Join(failed, err)
		if result.RequeueAfter > 0 && (after == 0 || result.RequeueAfter < after) {
			after = result.RequeueAfter
		}
	}
	if failed != nil {
		return requeueOnConflict(failed)
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// observe returns all GitOpsClusters with the clusters that each of them holds. It fails if a read
// fails, because the owners of clusters are not known then. If a write or a decision fails for one
// GitOpsCluster, only this one keeps everything as it is.
func (r *Reconciler) observe(ctx context.Context) ([]*member, error) {
	list := &v1beta1.GitOpsClusterList{}
	if err := r.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list GitOpsClusters: %w", err)
	}
	r.forget(list)
	installed, err := r.installed(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*member, 0, len(list.Items))
	h := hubReader{Reader: r.client, everyIn: r.options.everyIn()}
	for i := range list.Items {
		o := &list.Items[i]
		if !o.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(o, intent.GitOpsClusterFinalizer) {
			continue // released
		}
		admitted, err := h.admitted(ctx, o)
		if err != nil {
			return nil, err
		}
		f, err := h.observe(ctx, o, intent.Of(o, r.options.settings(admitted)), installed)
		if err != nil {
			return nil, err
		}
		x := &member{object: o, found: f}
		if x.err = r.decide(ctx, x); x.err != nil {
			x.desired = f.existing()
		}
		all = append(all, x)
	}
	return all, nil
}

// installed returns the clusters with agents. Without --agents gitopscluster removes no agent.
func (r *Reconciler) installed(ctx context.Context) (map[agents.Holder][]string, error) {
	if r.agents == nil {
		return nil, nil
	}
	return r.agents.Installed(ctx)
}

// decide sets the clusters that a GitOpsCluster should hold. It adds our finalizer before anything is
// created for the GitOpsCluster.
func (r *Reconciler) decide(ctx context.Context, x *member) (err error) {
	if x.object.DeletionTimestamp.IsZero() {
		x.desired, x.decision = r.holds(key(x.object), x.found, time.Now())
		if x.intent.DryRun || x.intent.Refusal != nil {
			return nil
		}
		return setFinalizer(ctx, r.client, x.object, true)
	}
	x.desired = map[string]bool{}
	pulled, err := r.unconfirmed(ctx, x.object, x.found)
	switch {
	case err != nil || x.intent.DryRun:
		return err
	case len(pulled) > 0:
		x.unconfirmed, x.desired = pulled, x.existing()
	default:
		r.confirmed[key(x.object)] = true
	}
	return nil
}

// spec returns the desired agents of a GitOpsCluster.
func (x *member) spec() agents.Spec {
	o := x.object
	if len(x.unconfirmed) > 0 || x.err != nil {
		o = o.DeepCopy()
		o.DeletionTimestamp = nil // nothing is removed yet
	}
	selected, held := x.clustersOf(key(o).String(), x.desired)
	a := agentSpec(o, x.intent, selected, held)
	a.DryRun = a.DryRun || x.err != nil
	return a
}

// forget deletes the state of GitOpsClusters that do not exist any more, or that were re-created.
func (r *Reconciler) forget(list *v1beta1.GitOpsClusterList) {
	existing := map[types.NamespacedName]types.UID{}
	for i := range list.Items {
		existing[key(&list.Items[i])] = list.Items[i].UID
	}
	for owner, uid := range r.known {
		if existing[owner] != uid {
			delete(r.since, owner)
			delete(r.confirmed, owner)
			delete(r.waits, owner)
			delete(r.failing, owner)
			r.status.forget(owner)
		}
	}
	r.known = existing
}

// holds returns the clusters that a GitOpsCluster holds from now on: the selected clusters, and the
// other clusters that may not be removed yet. A released cluster counts only if it is selected
// again. Its Secret may be outdated.
func (r *Reconciler) holds(owner types.NamespacedName, f found, now time.Time) (map[string]bool, intent.Decision) {
	holds, decision := r.selectedOrLeaving(owner, f, now)
	holds = maps.Clone(holds)
	maps.DeleteFunc(holds, func(cluster string, _ bool) bool {
		return f.selected[cluster] == nil && r.assignments.hasReleased(owner, f.intent.ArgoNamespace, cluster)
	})
	return holds, decision
}

func (r *Reconciler) selectedOrLeaving(owner types.NamespacedName, f found, now time.Time) (map[string]bool, intent.Decision) {
	existing := f.existing()
	if f.intent.Refusal != nil || f.problem != nil { // nothing was positively read
		delete(r.since, owner)
		return existing, intent.Decision{}
	}
	holds := map[string]bool{}
	for cluster := range f.selected {
		holds[cluster] = true
	}
	if f.intent.ArgoNamespace == r.options.everyIn() && f.intent.Agent == nil {
		return holds, intent.Decision{} // the Secrets stay in any case
	}
	since := map[string]time.Time{}
	for cluster := range existing {
		if holds[cluster] {
			continue
		}
		if since[cluster] = now; !r.since[owner][cluster].IsZero() {
			since[cluster] = r.since[owner][cluster]
		}
	}
	r.since[owner] = since
	decision := intent.Departures{
		Held: existing, Selected: holds, Since: since, Grace: r.options.Grace, Limit: r.options.RemovalLimit, Confirmed: f.intent.Confirmed,
	}.Decide(now)
	for _, cluster := range decision.Leaving {
		// When a GitOpsCluster takes over a Secret, it first becomes a holder, because only a
		// holder can release a Secret.
		if !slices.Contains(decision.Go, cluster) || f.held[cluster] && !slices.Contains(clustersecret.Holders(f.secrets[cluster]), owner.String()) {
			holds[cluster] = true
		}
	}
	return holds, decision
}

// assign passes to package register which clusters each GitOpsCluster holds, and which it has released.
func (r *Reconciler) assign(ctx context.Context, all []*member, plan *agents.Plan) error {
	held := map[types.NamespacedName]assignment{}
	for _, x := range all {
		x.holds = x.held
		if !x.intent.DryRun && x.err == nil && len(x.unconfirmed) == 0 {
			x.holds, x.err = r.keep(ctx, x, func(cluster string) (own, another bool) {
				return plan.Has(key(x.object), x.intent.ArgoNamespace, cluster), plan.IsTaken(key(x.object), cluster)
			})
			for cluster := range x.holds {
				if !x.desired[cluster] {
					plan.Keep(key(x.object), x.intent.ArgoNamespace, cluster)
				}
			}
		}
		released := map[string]bool{}
		for cluster := range x.held {
			if !x.holds[cluster] {
				released[cluster] = true
			}
		}
		held[key(x.object)] = assignment{x.intent.ArgoNamespace, x.holds, released}
	}
	var further []string
	if !r.assignments.decided() {
		var err error
		if further, err = r.ownSecrets(ctx); err != nil {
			return err
		}
	}
	if r.agents != nil {
		further = append(further, r.agents.Apply(plan)...)
	}
	r.assignments.set(held, plan, further...)
	return nil
}

// ownSecrets returns the clusters that have a Secret of ours. Until the first pass, a Secret without a
// holder stays.
func (r *Reconciler) ownSecrets(ctx context.Context) (clusters []string, err error) {
	for _, namespace := range r.options.Namespaces {
		secrets := &corev1.SecretList{}
		if err := r.client.List(ctx, secrets, client.InNamespace(namespace), clustersecret.Selector); err != nil {
			return nil, fmt.Errorf("list cluster Secrets of %s: %w", namespace, err)
		}
		for i := range secrets.Items {
			if clustersecret.IsOwn(&secrets.Items[i]) {
				clusters = append(clusters, clustersecret.ClusterName(&secrets.Items[i]))
			}
		}
	}
	return clusters, nil
}

// keep returns the clusters that a GitOpsCluster should hold, and the clusters with an agent that is
// not removed yet, because the Secret is removed last. It does not return a released cluster. The agent
// of a released cluster was removed, and a contradicting state or Secret is outdated. A cluster for which a
// read fails is kept as well.
func (r *Reconciler) keep(ctx context.Context, x *member, has func(cluster string) (own, another bool)) (kept map[string]bool, failed error) {
	kept = maps.Clone(x.desired)
	maps.DeleteFunc(kept, func(cluster string, _ bool) bool { return x.withoutSecret(cluster) })
	for cluster := range x.held {
		if kept[cluster] || r.assignments.hasReleased(key(x.object), x.intent.ArgoNamespace, cluster) {
			continue
		}
		stays, another := has(cluster)
		if !stays && !another && x.hasAgent(cluster) {
			gone := false
			if r.agents != nil {
				var err error
				gone, err = r.agents.Gone(ctx, cluster)
				failed = errors.Join(failed, err)
			}
			stays = !gone
		}
		if stays {
			kept[cluster] = true
		}
	}
	return kept, failed
}

// finish writes the status of a GitOpsCluster. If it is being deleted, finish releases it. If that fails for
// a while, the status reports the error.
func (r *Reconciler) finish(ctx context.Context, x *member, plan *agents.Plan) (ctrl.Result, error) {
	status, known := plan.Status(key(x.object))
	failure := plan.Failure(x.intent.ArgoNamespace)
	// The status of agents stays until they are read, unless that fails for a while or is not permitted.
	stays := !known && failure == nil && !x.notAllowed() && reportsAgents(x.object)
	if stays {
		return ctrl.Result{}, x.err
	}
	facts := x.facts(x.object, func(cluster string) string { return r.assignments.takenBy(x.intent.ArgoNamespace, cluster) })
	facts.Decision, facts.Unconfirmed = x.decision, x.unconfirmed
	if !facts.Deleting {
		facts.Clusters.Leaving = len(x.decision.Leaving)
	}
	facts.NotEvaluated = notEvaluated(x.intent.ArgoNamespace, failure)
	addAgents(status, known, x.found, x.object.Status.Conditions, &facts)
	r.addKept(x.found, x.holds, x.decision.Go, &facts)
	result, err := ctrl.Result{}, x.err
	if err == nil {
		result, err = r.report(ctx, x, plan, facts)
	}
	if !r.failing.last(key(x.object), err) {
		return result, err
	}
	facts.Failed = fmt.Sprintf("an error keeps the clusters of this GitOpsCluster as they are; restore the right or object that it names, or change the policy that denies the request: %v", err)
	_, failed := r.status.write(ctx, x.object, facts, 0)
	return ctrl.Result{}, errors.Join(err, failed)
}

// failures has the time since which passes fail for a GitOpsCluster.
type failures map[types.NamespacedName]time.Time

// last records the result of a pass, and reports whether passes have failed for a while.
func (f failures) last(owner types.NamespacedName, err error) bool {
	if err == nil {
		delete(f, owner)
		return false
	}
	if f[owner].IsZero() {
		f[owner] = time.Now()
	}
	return time.Since(f[owner]) >= agents.Patience
}

// report writes facts to the status of a GitOpsCluster, or releases the GitOpsCluster.
func (r *Reconciler) report(ctx context.Context, x *member, plan *agents.Plan, facts intent.Facts) (ctrl.Result, error) {
	if x.intent.DryRun {
		list, err := r.plan(ctx, x, plan)
		if err != nil {
			return ctrl.Result{}, err
		}
		facts.Plan = append(list, facts.Plan...)
	}
	switch {
	case len(x.unconfirmed) > 0:
		return r.status.write(ctx, x.object, facts, pulledInterval)
	case facts.Deleting && !x.intent.DryRun:
		return r.release(ctx, x, plan, facts)
	}
	return r.status.write(ctx, x.object, facts, x.decision.After)
}

// release removes the finalizer of a GitOpsCluster that is being deleted, once it has no cluster left.
func (r *Reconciler) release(ctx context.Context, x *member, plan *agents.Plan, facts intent.Facts) (ctrl.Result, error) {
	var err error
	if facts.Leftover, err = r.leftover(ctx, x.object, x.found); err != nil {
		return ctrl.Result{}, err
	}
	if facts.Leftover != "" {
		return r.status.write(ctx, x.object, facts, pulledInterval)
	}
	left, err := r.left(ctx, x, plan)
	if err != nil {
		return ctrl.Result{}, err
	}
	if left {
		return r.status.write(ctx, x.object, facts, time.Second)
	}
	return ctrl.Result{}, setFinalizer(ctx, r.client, x.object, false)
}

// left reports whether something of a GitOpsCluster exists. Caches may not have new objects yet.
func (r *Reconciler) left(ctx context.Context, x *member, plan *agents.Plan) (bool, error) {
	if x.notAllowed() {
		return false, nil // or leftover would have found it
	}
	if !plan.Left(key(x.object), x.intent.ArgoNamespace) {
		return true, nil
	}
	if len(x.held) > 0 || r.assignments.inUse(key(x.object)) {
		r.assignments.enqueue(slices.Sorted(maps.Keys(x.held))...)
		return true, nil
	}
	if r.agents != nil {
		addOns, err := r.addOns(ctx, key(x.object).String())
		if err != nil || slices.ContainsFunc(addOns, func(cluster string) bool { return !plan.Assigned(cluster) }) {
			return true, err
		}
	}
	live := found{intent: x.intent}
	// The cached list of other GitOpsClusters is sufficient. The Secrets have to be current.
	err := hubReader{Reader: secretsOf{r.client, r.live}, everyIn: r.options.everyIn()}.observeSecrets(ctx, x.object, &live)
	return len(live.held) > 0, err
}

// setFinalizer adds or removes our finalizer.
func setFinalizer(ctx context.Context, c client.Client, o *v1beta1.GitOpsCluster, desired bool) error {
	if controllerutil.ContainsFinalizer(o, intent.GitOpsClusterFinalizer) == desired {
		return nil
	}
	before := o.DeepCopy()
	if desired {
		controllerutil.AddFinalizer(o, intent.GitOpsClusterFinalizer)
	} else {
		controllerutil.RemoveFinalizer(o, intent.GitOpsClusterFinalizer)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, o, patch, client.FieldOwner(fieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch GitOpsCluster %s: %w", key(o), err)
	}
	return nil
}

func requeueOnConflict(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) { // the cache has the existing Secret the next time
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return ctrl.Result{}, err
}

// plan returns the writes that gitopscluster would make for a GitOpsCluster.
func (r *Reconciler) plan(ctx context.Context, x *member, plan *agents.Plan) ([]v1beta1.PlannedWrite, error) {
	h := hubReader{Reader: r.client, everyIn: r.options.everyIn()}
	clusters, err := h.clusters(ctx, x.found)
	if err != nil {
		return nil, err
	}
	others := func(cluster string) []string {
		return r.assignments.others(key(x.object), x.intent.ArgoNamespace, cluster)
	}
	return x.plan(x.object, x.desired, r.options.InstanceLabel, h.everyIn, clusters, plan.Planned, others)
}
