// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unreachable marks the ManifestWorks of rendered mode while their cluster is unavailable.
// No other controller does that: the status of a work stays as the agent last reported it. The
// hub's Argo CD would show an old Healthy as long as the cluster is unreachable. Argo CD's health
// check shows the mark as Unknown.
package unreachable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// clusterUnreachableAnnotation on a ManifestWork holds the time, in RFC 3339, since
// which its cluster is not available. Argo CD's health check reads it.
const clusterUnreachableAnnotation = contract.KeyPrefix + "cluster-unreachable"

// Options are the options of [Setup].
type Options struct {
	// Backoff decides when a failed cluster is tried again. If it is nil, [boot.Backoff] decides.
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	return o
}

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=list;watch;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Reconciler keeps the marks on the rendered ManifestWorks of one ManagedCluster.
type Reconciler struct {
	client client.Client
}

// Caches returns the objects that [Setup] watches, for the options of the manager's cache. They are
// ManagedClusters, and the metadata of ManifestWorks with the label of rendered mode.
func Caches() map[client.Object]cache.ByObject {
	// A work with the pull model's label belongs to propagation, whatever other labels the managed
	// cluster's agent has added.
	rendered := labels.SelectorFromSet(labels.Set{contract.RenderedLabel: "true"})
	pulled, _ := labels.NewRequirement(contract.PullLabel, selection.NotEquals, []string{"true"}) // a constant, and a label
	return map[client.Object]cache.ByObject{
		&clusterv1.ManagedCluster{}: {Transform: trimCluster},
		work("", ""):                {Label: rendered.Add(*pulled), Transform: trim},
	}
}

// Setup adds the controller to mgr. The cache of mgr must be limited to [Caches].
func Setup(mgr ctrl.Manager, options Options) error {
	options = options.withDefaults()
	err := ctrl.NewControllerManagedBy(mgr).
		Named("unreachable").
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(availabilityChanged)).
		Watches(work("", ""), handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: options.Backoff}).
		Complete(&Reconciler{client: mgr.GetClient()})
	if err != nil {
		return fmt.Errorf("set up the marks of unreachable clusters: %w", err)
	}
	return nil
}

// Reconcile brings the marks of one cluster's works to the desired state.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := r.client.Get(ctx, request.NamespacedName, cluster); err != nil {
		// A namespace without a ManagedCluster has no agent that could be unreachable.
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	state := status.ClusterOf(request.Name, cluster)
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(workKinds.WithKind("ManifestWorkList"))
	if err := r.client.List(ctx, works, client.InNamespace(request.Name)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list rendered ManifestWorks of %s: %w", request.Name, err)
	}
	var failed []error
	for i := range works.Items {
		failed = append(failed, r.mark(ctx, &works.Items[i], state))
	}
	return ctrl.Result{}, errors.Join(failed...)
}

// mark sets or removes the mark of one work. An existing mark stays as long as the cluster is
// unavailable, because it has the time of the beginning. A change of Available from False to
// Unknown does not matter. A cluster that was never available has applied nothing, and the work's
// own status shows that.
func (r *Reconciler) mark(ctx context.Context, w *metav1.PartialObjectMetadata, cluster status.Cluster) error {
	_, marked := w.Annotations[clusterUnreachableAnnotation]
	unreachable := !cluster.Available && !cluster.Since.IsZero()
	if marked == unreachable {
		return nil
	}
	var value any // null removes
	if unreachable {
		value = cluster.Since.UTC().Format(time.RFC3339)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{clusterUnreachableAnnotation: value}}})
	if err != nil {
		return err
	}
	err = r.client.Patch(ctx, work(w.Namespace, w.Name), client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("mark ManifestWork %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}

var workKinds = schema.GroupVersion(workv1.GroupVersion)

func work(namespace, name string) *metav1.PartialObjectMetadata {
	w := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.SetGroupVersionKind(workKinds.WithKind("ManifestWork"))
	return w
}

// trim keeps the fields of a work that are read.
func trim(in any) (any, error) {
	w, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	kept := metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, UID: w.UID, ResourceVersion: w.ResourceVersion}
	if since, marked := w.Annotations[clusterUnreachableAnnotation]; marked {
		kept.Annotations = map[string]string{clusterUnreachableAnnotation: since}
	}
	w.ObjectMeta = kept
	return w, nil
}

// trimCluster keeps the fields that [status.ClusterOf] reads.
func trimCluster(in any) (any, error) {
	c, ok := in.(*clusterv1.ManagedCluster)
	if !ok {
		return in, nil
	}
	kept := metav1.ObjectMeta{Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	c.ObjectMeta, c.Spec = kept, clusterv1.ManagedClusterSpec{}
	c.Status = clusterv1.ManagedClusterStatus{Conditions: c.Status.Conditions}
	return c, nil
}

// availabilityChanged selects the changes that a mark depends on, because a ManagedCluster's status
// changes all the time.
var availabilityChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && status.ClusterOf("", before).Available != status.ClusterOf("", after).Available
	},
}

func clusterOf(_ context.Context, w client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: w.GetNamespace()}}}
}
