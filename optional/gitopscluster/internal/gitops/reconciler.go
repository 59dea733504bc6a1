// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
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

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters,verbs=patch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters/status,verbs=patch

// Reconciler reconciles GitOpsClusters.
type Reconciler struct {
	client      client.Client
	live        client.Reader
	options     Options
	gate        *Gate
	assignments *Assignments
	agents      Agents
	status      *statusWriter
	queue       enqueue.Queue
	// since has the held clusters that are not selected. Only one worker uses it.
	since map[types.NamespacedName]map[string]time.Time
	// confirmed are the GitOpsClusters whose deletion needs no further confirmation.
	confirmed map[types.NamespacedName]bool
}

// Reconcile reconciles one GitOpsCluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if !r.gate.open.Load() {
		return ctrl.Result{}, nil // all are reconciled when it opens
	}
	o := &v1beta1.GitOpsCluster{}
	err := r.client.Get(ctx, request.NamespacedName, o)
	if apierrors.IsNotFound(err) {
		delete(r.since, request.NamespacedName)
		delete(r.confirmed, request.NamespacedName)
		r.status.forget(request.NamespacedName)
		r.agents.Delete(request.NamespacedName)
		return ctrl.Result{}, r.assign(ctx, request.NamespacedName, found{}, nil)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get GitOpsCluster %s: %w", request.NamespacedName, err)
	}
	h := hubReader{Reader: r.client, everyIn: r.options.everyIn()}
	admitted, err := h.admitted(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	in := intent.Of(o, r.options.settings(admitted))
	f, err := h.look(ctx, o, in)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !o.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, o, f)
	}
	holds, decision := r.holds(key(o), f, time.Now())
	r.agents.Set(agentSpec(o, in, holds))
	planned := holds
	holds = r.keep(key(o), f, holds)
	facts := f.facts(o, func(cluster string) string { return r.assignments.takenBy(in.ArgoNamespace, cluster) })
	facts.Decision, facts.Clusters.Leaving = decision, len(decision.Leaving)
	status, known := r.agents.Status(key(o))
	addAgents(status, known, f, o.Status.Conditions, &facts)
	r.addKept(f, holds, decision.Go, &facts)
	if in.DryRun {
		agents := facts.Plan
		if facts.Plan, err = r.plan(ctx, h, o, f, planned); err != nil {
			return ctrl.Result{}, err
		}
		facts.Plan = append(facts.Plan, agents...)
		holds = f.held // as it is
	} else if in.Refusal == nil {
		if err := r.finalizer(ctx, o, true); err != nil {
			return requeueOnConflict(err)
		}
	}
	if err := r.assign(ctx, key(o), f, holds); err != nil {
		return ctrl.Result{}, err
	}
	if wait := r.status.waits(o, in, looked(status, known, f, facts.Missing)); wait > 0 {
		if decision.Look > 0 {
			wait = min(wait, decision.Look)
		}
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return r.status.write(ctx, o, facts, decision.Look)
}

// holds returns the clusters that a GitOpsCluster holds from now on: the selected ones, and those
// that are not selected and may not be removed yet. A released cluster counts only if it is
// selected again. Its Secret may be an old one.
func (r *Reconciler) holds(owner types.NamespacedName, f found, now time.Time) (map[string]bool, intent.Decision) {
	holds, decision := r.selectedOrLeaving(owner, f, now)
	holds = maps.Clone(holds)
	maps.DeleteFunc(holds, func(cluster string, _ bool) bool {
		return f.selected[cluster] == nil && r.assignments.hasReleased(owner, f.intent.ArgoNamespace, cluster)
	})
	return holds, decision
}

func (r *Reconciler) selectedOrLeaving(owner types.NamespacedName, f found, now time.Time) (map[string]bool, intent.Decision) {
	if f.intent.Refusal != nil || f.problem != nil { // nothing was positively read
		delete(r.since, owner)
		return f.held, intent.Decision{}
	}
	holds := map[string]bool{}
	for cluster := range f.selected {
		holds[cluster] = true
	}
	if f.intent.ArgoNamespace == r.options.everyIn() && f.intent.Agent == nil {
		return holds, intent.Decision{} // the Secrets stay in any case
	}
	since := map[string]time.Time{}
	for cluster := range f.held {
		if holds[cluster] {
			continue
		}
		if since[cluster] = now; !r.since[owner][cluster].IsZero() {
			since[cluster] = r.since[owner][cluster]
		}
	}
	r.since[owner] = since
	decision := intent.Departures{
		Held: f.held, Selected: holds, Since: since, Grace: r.options.Grace, Limit: r.options.RemovalLimit, Confirmed: f.intent.Confirmed,
	}.Decide(now)
	for _, cluster := range decision.Leaving {
		// A Secret that it takes over first gets it as a holder, because only a holder can release
		// a Secret.
		if !slices.Contains(decision.Go, cluster) || !slices.Contains(clustersecret.Holders(f.secrets[cluster]), owner.String()) {
			holds[cluster] = true
		}
	}
	return holds, decision
}

// assign passes to package register which clusters a GitOpsCluster holds, and which it has
// released.
func (r *Reconciler) assign(ctx context.Context, owner types.NamespacedName, f found, holds map[string]bool) error {
	released := map[string]bool{}
	for cluster := range f.held {
		if !holds[cluster] {
			released[cluster] = true
		}
	}
	news, last := r.assignments.set(owner, assignment{f.intent.ArgoNamespace, holds, released})
	r.assignments.enqueue(news...)
	if last {
		return r.recheckSecrets(ctx)
	}
	return nil
}

// recheckSecrets makes package register check every Secret of ours, once every GitOpsCluster was
// reconciled. Until then, a Secret without a holder has stayed.
func (r *Reconciler) recheckSecrets(ctx context.Context) error {
	for _, namespace := range r.options.Namespaces {
		secrets := &corev1.SecretList{}
		if err := r.client.List(ctx, secrets, client.InNamespace(namespace), clustersecret.Selector); err != nil {
			return fmt.Errorf("list cluster Secrets of %s: %w", namespace, err)
		}
		for i := range secrets.Items {
			if clustersecret.IsOwn(&secrets.Items[i]) {
				r.assignments.enqueue(clustersecret.ClusterName(&secrets.Items[i]))
			}
		}
	}
	return nil
}

// reconcileDelete releases a GitOpsCluster that is being deleted once none of its clusters
// is left.
func (r *Reconciler) reconcileDelete(ctx context.Context, o *v1beta1.GitOpsCluster, f found) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(o, intent.GitOpsClusterFinalizer) {
		return ctrl.Result{}, nil
	}
	pulled, err := r.unconfirmed(ctx, o, f)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(pulled) > 0 && !f.intent.DryRun {
		return r.holdDeletion(ctx, o, f, pulled)
	}
	if !f.intent.DryRun {
		r.confirmed[key(o)] = true
	}
	h := hubReader{Reader: r.client, everyIn: r.options.everyIn()}
	facts := f.facts(o, func(string) string { return "" })
	r.agents.Set(agentSpec(o, f.intent, nil))
	status, known := r.agents.Status(key(o))
	addAgents(status, known, f, o.Status.Conditions, &facts)
	if f.intent.DryRun {
		plan, err := r.plan(ctx, h, o, f, map[string]bool{})
		if err != nil {
			return ctrl.Result{}, err
		}
		facts.Plan = append(plan, facts.Plan...)
		if err := r.assign(ctx, key(o), f, f.held); err != nil {
			return ctrl.Result{}, err
		}
		return r.status.write(ctx, o, facts, 0)
	}
	if err := r.assign(ctx, key(o), f, r.keep(key(o), f, map[string]bool{})); err != nil {
		return ctrl.Result{}, err
	}
	if facts.Leftover, err = r.leftover(ctx, o, f); err != nil {
		return ctrl.Result{}, err
	}
	if facts.Leftover != "" {
		return r.status.write(ctx, o, facts, pulledLook)
	}
	left, err := r.left(ctx, o, f)
	if err != nil {
		return ctrl.Result{}, err
	}
	if left {
		return r.status.write(ctx, o, facts, time.Second)
	}
	return requeueOnConflict(r.finalizer(ctx, o, false))
}

// left reports whether something of a GitOpsCluster exists. The cache may not have a new Secret
// yet.
func (r *Reconciler) left(ctx context.Context, o *v1beta1.GitOpsCluster, f found) (bool, error) {
	if f.notAllowed() {
		return false, nil // or leftover would have found it
	}
	if !r.agents.Left(key(o)) {
		return true, nil
	}
	if len(f.held) > 0 || r.assignments.inUse(key(o)) {
		r.assignments.enqueue(slices.Sorted(maps.Keys(f.held))...)
		return true, nil
	}
	live := found{intent: f.intent}
	// The cached list of others is sufficient. The Secrets have to be the present ones.
	err := hubReader{Reader: secretsOf{r.client, r.live}, everyIn: r.options.everyIn()}.lookAtSecrets(ctx, o, &live)
	return len(live.held) > 0, err
}

// finalizer adds or removes ours.
func (r *Reconciler) finalizer(ctx context.Context, o *v1beta1.GitOpsCluster, wanted bool) error {
	if controllerutil.ContainsFinalizer(o, intent.GitOpsClusterFinalizer) == wanted {
		return nil
	}
	before := o.DeepCopy()
	if wanted {
		controllerutil.AddFinalizer(o, intent.GitOpsClusterFinalizer)
	} else {
		controllerutil.RemoveFinalizer(o, intent.GitOpsClusterFinalizer)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, o, patch, client.FieldOwner(fieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch GitOpsCluster %s: %w", key(o), err)
	}
	return nil
}

func requeueOnConflict(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return ctrl.Result{}, err
}

// plan returns what would be written for a GitOpsCluster that holds clusters.
func (r *Reconciler) plan(ctx context.Context, h hubReader, o *v1beta1.GitOpsCluster, f found, holds map[string]bool) ([]v1beta1.PlannedWrite, error) {
	clusters, err := h.clusters(ctx, f)
	if err != nil {
		return nil, err
	}
	others := func(cluster string) []string { return r.assignments.others(key(o), f.intent.ArgoNamespace, cluster) }
	return f.plan(o, holds, r.options.InstanceLabel, h.everyIn, clusters, r.agents, others)
}

// keep adds to holds the clusters whose agent is not removed yet, because their Secret is removed
// last. It also adds a cluster if that is unknown. It does not add a released cluster. Its agent
// was removed, and a state or Secret that contradicts that is old.
func (r *Reconciler) keep(owner types.NamespacedName, f found, holds map[string]bool) map[string]bool {
	_, known := r.agents.Status(owner)
	kept := maps.Clone(holds)
	for cluster := range f.held {
		if r.assignments.hasReleased(owner, f.intent.ArgoNamespace, cluster) {
			continue
		}
		if !known || r.agents.Has(owner, f.intent.ArgoNamespace, cluster) || r.options.Agents == nil && f.hasAgent(cluster) {
			kept[cluster] = true
		}
	}
	return kept
}
