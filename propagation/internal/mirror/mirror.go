// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

// Reconciler keeps the status of one hub Application equal to what its managed
// cluster says. Everything is read from the cache; the only write is the patch.
type Reconciler struct {
	client  client.Client
	works   func(app types.NamespacedName) ([]*manifestcache.Work, error)
	options Options
	now     func() time.Time

	waiting gracePeriods
	unheard gracePeriods // of Applications that no cluster has reported yet
	arrived arrivals
	spoken  speakers
}

// Reconcile mirrors one Application.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	since, timed := r.arrived.take(request.NamespacedName)
	app := &argocd.Application{}
	if err := r.client.Get(ctx, request.NamespacedName, app, client.UnsafeDisableDeepCopy); err != nil {
		r.waiting.forget(request.NamespacedName)
		r.unheard.forget(request.NamespacedName)
		if apierrors.IsNotFound(err) {
			r.spoken.note(request.NamespacedName, "")
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	patch, work, wait, err := r.decide(ctx, app)
	switch {
	case errors.Is(err, appstatus.ErrMalformed):
		return ctrl.Result{}, reconcile.TerminalError(fmt.Errorf("status of Application %s is not changed: %w", request, err))
	case err != nil:
		return ctrl.Result{}, err
	case wait > 0:
		r.arrived.giveBack(request.NamespacedName, since, timed)
		return ctrl.Result{RequeueAfter: wait}, nil
	case patch == nil:
		r.spoken.note(request.NamespacedName, work)
		return ctrl.Result{}, nil
	}

	// The answer is not read: metadata is the least that the API server sends.
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	target.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner))
	switch {
	case apierrors.IsConflict(err):
		statusWrites.WithLabelValues(resultConflict).Inc()
		r.arrived.giveBack(request.NamespacedName, since, timed)
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		statusWrites.WithLabelValues(resultError).Inc()
		r.arrived.giveBack(request.NamespacedName, since, timed)
		return ctrl.Result{}, fmt.Errorf("patch status of Application %s: %w", request, err)
	}
	r.spoken.note(request.NamespacedName, work)
	statusWrites.WithLabelValues(resultWritten).Inc()
	if timed {
		feedbackSeconds.Observe(r.now().Sub(since).Seconds())
	}
	return ctrl.Result{}, nil
}

// decide returns the patch to send, nil for none, and the UID of the ManifestWork
// that the status then speaks of, or how long to wait for an agent that is about to
// apply a change.
func (r *Reconciler) decide(ctx context.Context, app *argocd.Application) (patch []byte, speaker types.UID, wait time.Duration, err error) {
	key := client.ObjectKeyFromObject(app)
	cluster, pulled := target(app)
	if !pulled {
		r.waiting.forget(key)
		r.unheard.forget(key)
		patch, err = removeOwnedConditionsPatch(app, r.now())
		return patch, "", 0, err
	}
	work, err := r.work(app)
	if err != nil {
		return nil, "", 0, err
	}
	if work == nil {
		r.waiting.forget(key)
		if !ownsStatusWhenUndelivered(app) {
			return nil, "", 0, nil
		}
		if wait := r.firstWord(app, &workv1.ManifestWork{}, true); wait > 0 {
			return nil, "", wait, nil
		}
		patch, err = statusPatch(app, status.Nothing(), "", r.now())
		return patch, "", 0, err
	}
	state, err := r.cluster(ctx, cluster)
	if err != nil {
		return nil, "", 0, err
	}
	observed := status.Work(work, state)
	if wait := r.firstWord(app, work, !observed.Reported && observed.Reason == ""); wait > 0 {
		return nil, "", wait, nil
	}
	if wait := r.waiting.left(key, work, observed.Reason == status.ChangePending, r.now(), r.options.ApplyGrace); wait > 0 {
		return nil, "", wait, nil
	}
	patch, err = statusPatch(app, observed, r.spoken.of(key), r.now())
	return patch, observed.Work, 0, err
}

// firstWord returns how long a new Application may still be left without a health:
// its managed cluster is about to say it, and "Unknown" before that would be a
// second write for every Application of a fleet that is delivered at once. A status
// that says something is corrected without waiting.
func (r *Reconciler) firstWord(app *argocd.Application, work *workv1.ManifestWork, silent bool) time.Duration {
	pending := silent && r.options.FirstWord > 0 && !speaks(app.Status)
	return r.unheard.left(client.ObjectKeyFromObject(app), work, pending, r.now(), r.options.FirstWord)
}

// target returns the managed cluster that an Application asks to be pulled to.
func target(app *argocd.Application) (cluster string, pulled bool) {
	cluster = app.Annotations[contract.ClusterAnnotation]
	return cluster, contract.IsPulled(app.Labels) && cluster != ""
}

// ownsStatusWhenUndelivered reports whether the status of an Application without a work is
// the mirror's: it then is Unknown rather than what it was elsewhere. Where the hub's own
// Argo CD was not told to skip the Application, the status is Argo CD's; and one that is
// being deleted keeps its last status.
func ownsStatusWhenUndelivered(app *argocd.Application) bool {
	return argocd.SkipsReconcile(app.Annotations) && app.DeletionTimestamp.IsZero()
}

// work returns the ManifestWork that carries the Application to its cluster, or
// nil. While it moves, its work on the cluster before has no say.
func (r *Reconciler) work(app *argocd.Application) (*workv1.ManifestWork, error) {
	works, err := r.works(client.ObjectKeyFromObject(app))
	if err != nil {
		return nil, err
	}
	// What a work still reports on its way out is about an earlier Application of the name.
	works = slices.DeleteFunc(slices.Clone(works), func(w *manifestcache.Work) bool {
		return w.Leaving() && app.DeletionTimestamp.IsZero()
	})
	if i := payload.CurrentWork(app, works, (*manifestcache.Work).Delivers); i >= 0 {
		return works[i].ManifestWork(), nil
	}
	return nil, nil
}

func (r *Reconciler) cluster(ctx context.Context, name string) (status.Cluster, error) {
	var cluster clusterv1.ManagedCluster
	err := r.client.Get(ctx, types.NamespacedName{Name: name}, &cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return status.ClusterOf(name, nil), nil
	}
	if err != nil {
		return status.Cluster{}, fmt.Errorf("get ManagedCluster %s: %w", name, err)
	}
	return status.ClusterOf(name, &cluster), nil
}
