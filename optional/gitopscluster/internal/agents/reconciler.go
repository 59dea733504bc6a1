// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal/reader"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// leavingLook is the time between two checks of a cluster while its agent is being removed.
const leavingLook = 2 * time.Second

// Reconciler makes a [Plan], and reconciles the agent of each cluster with it.
type Reconciler struct {
	options Options
	reports *reporter
	client  client.Client
	fleet   *fleet.Fleet
	reader  *reader.Reader
	keeper  *certificates.Keeper
	// applications reads and writes the Applications of the hub.
	applications *applications.Reader
	// plan is the last plan.
	plan  atomic.Pointer[Plan]
	queue enqueue.Queue
	// sources are the objects that a plan depends on.
	sources []source.Source
	// orphaned has the clusters with an agent without an existing GitOpsCluster, with the time of that
	// discovery.
	orphaned map[string]time.Time
	// clean are the namespaces of Argo CDs without agents and with deleted certificates. without has
	// the time since which an Argo CD is known to have no agents.
	clean   map[string]bool
	without map[string]time.Time
	// failing has the time since which the plan of an Argo CD fails.
	failing map[string]time.Time
	now     func() time.Time
}

func newReconciler(c client.Client, live client.Reader, lists applications.Lists, options Options) *Reconciler {
	now := options.Now
	if now == nil {
		now = time.Now
	}
	return &Reconciler{
		options: options, client: c, failing: map[string]time.Time{}, now: now,
		reports:      &reporter{client: c, signing: sign.Options{Namespaces: options.Namespaces, KeyNamespace: options.KeyNamespace, Lifetime: options.Lifetime, Now: options.Now}, secret: options.Secret},
		reader:       reader.New(c, live, time.Now),
		keeper:       certificates.New(c, live, certificates.Options{CALife: options.CALife, KeyNamespace: options.KeyNamespace}),
		applications: applications.New(c, live, lists), orphaned: map[string]time.Time{}, clean: map[string]bool{}, without: map[string]time.Time{},
	}
}

// Sources returns the sources of a controller that calls [Reconciler.MakePlan]: everything that a plan
// depends on, apart from the specs.
func (r *Reconciler) Sources() []source.Source { return r.sources }

// Gone reports whether the hub has nothing left for the agent of a cluster. It reads the API server,
// because caches are not current at the same time.
func (r *Reconciler) Gone(ctx context.Context, cluster string) (bool, error) {
	return r.fleet.Gone(ctx, cluster)
}

// Apply enqueues the clusters with a task that differs from the plan before. It returns the clusters
// with a Secret that may have to change.
func (r *Reconciler) Apply(plan *Plan) (secrets []string) {
	before := r.plan.Swap(plan)
	if before == nil {
		before = &Plan{}
	}
	changed, secrets := plan.changes(before)
	for _, name := range changed {
		r.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return secrets
}

// Reconcile installs the agent on one cluster, or removes it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	plan := r.plan.Load()
	if plan == nil || plan.tasks[request.Name] == nil {
		return ctrl.Result{}, nil
	}
	switch t := plan.tasks[request.Name]; {
	case t.untouched:
	case t.desired == nil:
		result, err = r.leave(ctx, request.Name, t)
	default:
		_, err = r.fleet.Ensure(ctx, *t.desired)
	}
	if apierrors.IsConflict(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("another client wrote the object first; trying again", "cause", err.Error())
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return result, err
}

// leave performs one step of the removal of an agent.
func (r *Reconciler) leave(ctx context.Context, name string, t *task) (ctrl.Result, error) {
	addOn := &addonv1alpha1.ManagedClusterAddOn{}
	err := r.fleet.Reader().Get(ctx, client.ObjectKey{Namespace: name, Name: agent.AddOnName}, addOn)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get ManagedClusterAddOn %s/%s: %w", name, agent.AddOnName, err)
	}
	done, _, err := r.fleet.Leave(ctx, name, t.abandon)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !done {
		return ctrl.Result{RequeueAfter: leavingLook}, nil
	}
	kept := presence{addOn: addOn}.issued()
	if len(kept) > 0 && addOn.DeletionTimestamp.IsZero() && r.options.Abandoned != nil { // otherwise an earlier step has deleted the add-on
		r.options.Abandoned(t.owner, name, kept)
	}
	return ctrl.Result{}, nil
}
