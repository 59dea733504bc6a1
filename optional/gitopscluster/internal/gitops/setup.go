// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/register"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// Caches returns the objects that the manager's cache must have for [Setup] and register.Setup.
// They are the cluster Secrets of Argo CDs, and the Namespaces that admit GitOpsClusters of others.
func Caches(namespaces ...string) map[client.Object]cache.ByObject {
	all := register.Caches(namespaces...)
	all[&corev1.Namespace{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{intent.AdmitLabel: "true"})}
	return all
}

// Informers returns the constructor of the informers of a cache with [Caches], for its NewInformer.
// Teams and managed clusters write these objects, and the API server admits values that Go's types
// cannot hold. One object must not hide the others.
func Informers(config *rest.Config) (slim.Constructor, error) {
	type placement struct {
		Metadata slim.Meta                      `json:"metadata"`
		Status   clusterv1beta1.PlacementStatus `json:"status"`
	}
	resource := schema.GroupVersionResource{Group: clusterv1beta1.GroupName, Version: "v1beta1", Resource: "placements"}
	placements, err := slim.NewSource(config, resource, func(p *placement) *clusterv1beta1.Placement {
		return &clusterv1beta1.Placement{ObjectMeta: p.Metadata.ObjectMeta, Status: p.Status}
	})
	if err != nil {
		return nil, err
	}
	clusters, err := slim.ManagedClusters(config)
	if err != nil {
		return nil, err
	}
	addOns, err := sign.AddOns(config)
	if err != nil {
		return nil, err
	}
	return slim.Informers(placements, clusters, addOns), nil
}

// Setup adds the controller to mgr. The scheme of mgr must have GitOpsClusters and Placements, and
// its cache must be built with [Caches]. The controller starts to watch once the
// CustomResourceDefinition is ours. Setup returns the scope of package register.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) (*Assignments, error) {
	options = options.withDefaults()
	if err := registerMetrics(); err != nil {
		return nil, fmt.Errorf("register metrics of GitOpsClusters: %w", err)
	}
	assignments := NewAssignments(options.everyIn())
	recorder := mgr.GetEventRecorder("gitopscluster")
	r := &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), options: options, gate: newGate(mgr, options), assignments: assignments,
		status: &statusWriter{client: mgr.GetClient(), recorder: recorder, wrote: map[types.NamespacedName]written{}},
		since:  map[types.NamespacedName]map[string]time.Time{}, confirmed: map[types.NamespacedName]bool{},
		waits: map[types.NamespacedName]wait{}, failing: failures{},
	}
	assignments.changed = r.pass
	if options.Agents != nil {
		if err := r.bringAgents(ctx, mgr, *options.Agents, recorder); err != nil {
			return nil, err
		}
	}
	if err := mgr.Add(&starter{mgr, r}); err != nil {
		return nil, fmt.Errorf("set up GitOpsClusters: %w", err)
	}
	return assignments, nil
}

// bringAgents adds the controllers that deliver argocd-agent to clusters.
func (r *Reconciler) bringAgents(ctx context.Context, mgr ctrl.Manager, o agents.Options, recorder events.EventRecorder) (err error) {
	o.Namespaces, o.Limit = r.options.Namespaces, r.options.RemovalLimit
	o.Grace = r.options.Grace
	o.Secret = secretOf(r.client)
	o.Registered = registered(r.client)
	o.Abandoned = func(owner types.NamespacedName, cluster string, kept []pki.Issued) {
		recordAbandoned(recorder, owner, cluster, kept)
	}
	r.agents, err = agents.Setup(ctx, mgr, o, everyGitOpsCluster)
	return err
}

// secretOf returns a function that returns the holders of a cluster's Secret, and the digest of the
// config in it.
func secretOf(reader client.Reader) func(ctx context.Context, namespace, cluster string) (holders []string, digest string, err error) {
	return func(ctx context.Context, namespace, cluster string) ([]string, string, error) {
		secret := &corev1.Secret{}
		err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: clustersecret.Name(cluster)}, secret, client.UnsafeDisableDeepCopy)
		if err != nil || !clustersecret.IsOwn(secret) {
			return nil, "", client.IgnoreNotFound(err)
		}
		return clustersecret.Holders(secret), secret.Annotations[contract.ConfigDigestAnnotation], nil
	}
}

// registered returns the clusters that another writer has registered with Argo CD, and whether one
// of them has an agent.
func registered(reader client.Reader) func(ctx context.Context, namespace string) (foreign map[string]bool, agents bool, err error) {
	return func(ctx context.Context, namespace string) (foreign map[string]bool, agents bool, err error) {
		secrets := &corev1.SecretList{}
		if err := reader.List(ctx, secrets, client.InNamespace(namespace), clustersecret.Selector, client.UnsafeDisableDeepCopy); err != nil {
			return nil, false, fmt.Errorf("list cluster Secrets of %s: %w", namespace, err)
		}
		foreign = map[string]bool{}
		for i := range secrets.Items {
			if s := &secrets.Items[i]; !clustersecret.IsOwn(s) {
				foreign[clustersecret.ClusterName(s)] = true
				agents = agents || s.Labels[argocd.AgentNameLabel] != ""
			}
		}
		return foreign, agents, nil
	}
}

// starter starts the controller when the gate opens for the first time.
type starter struct {
	mgr ctrl.Manager
	r   *Reconciler
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *starter) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (s *starter) Start(ctx context.Context) error {
	r := s.r
	if !r.gate.wait(ctx) {
		return nil
	}
	if err := r.control(s.mgr); err != nil {
		return err
	}
	r.pass() // even without a GitOpsCluster
	r.gate.watch(ctx, r.pass)
	return nil
}

// control adds the controller to the manager, which starts it.
func (r *Reconciler) control(mgr ctrl.Manager) error {
	pass := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{everyGitOpsCluster}
	})
	c := ctrl.NewControllerManagedBy(mgr).
		Named("gitops").
		Watches(&v1beta1.GitOpsCluster{}, pass, builder.WithPredicates(specChanged)).
		Watches(&clusterv1beta1.Placement{}, pass).
		Watches(&clusterv1beta1.PlacementDecision{}, pass).
		Watches(&clusterv1.ManagedCluster{}, pass, builder.WithPredicates(acceptanceChanged)).
		Watches(&corev1.Namespace{}, pass).
		Watches(&corev1.Secret{}, pass).
		WatchesRawSource(r.queue.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: r.options.Backoff})
	if r.agents != nil {
		for _, s := range r.agents.Sources() {
			c.WatchesRawSource(s)
		}
	}
	if err := c.Complete(r); err != nil {
		return fmt.Errorf("set up GitOpsClusters: %w", err)
	}
	return nil
}

// specChanged selects the changes that we do not write ourselves.
var specChanged = predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)

// statusLost accepts a status that another client has changed. Our own write returns unchanged and
// needs no further one.
var statusLost = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1beta1.GitOpsCluster)
	after, ok2 := e.ObjectNew.(*v1beta1.GitOpsCluster)
	return ok && ok2 && len(after.Status.Conditions) < len(before.Status.Conditions)
}}

// acceptanceChanged selects the changes that select or deselect a ManagedCluster.
var acceptanceChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
	after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
	return ok && ok2 && clustersecret.Registrable(before) != clustersecret.Registrable(after)
}}
