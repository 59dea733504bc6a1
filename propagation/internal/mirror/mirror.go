// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

// Reconciler keeps the status of a hub Application equal to the report of its managed cluster. It
// reads from the cache, and from the API server only an Application that the cache has reduced. Its
// only write is the patch.
type Reconciler struct {
	client  client.Client
	live    client.Reader
	works   func(app types.NamespacedName) ([]*manifestcache.Work, error)
	options Options
	now     func() time.Time

	memory memory
}

// Reconcile mirrors one Application.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen := r.memory.takeFeedback(req.NamespacedName)
	app, err := r.application(ctx, req.NamespacedName)
	switch {
	case apierrors.IsNotFound(err):
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		r.memory.returnFeedback(req.NamespacedName, seen)
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	d, err := r.decide(ctx, app)
	switch {
	case apierrors.IsConflict(err): // the cache is behind
		r.memory.returnFeedback(req.NamespacedName, seen)
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	case errors.Is(err, appstatus.ErrMalformed):
		return ctrl.Result{}, reconcile.TerminalError(fmt.Errorf("status of Application %s is not changed: %w", req, err))
	case err != nil:
		return ctrl.Result{}, err
	case d.wait > 0:
		r.memory.returnFeedback(req.NamespacedName, seen)
		return ctrl.Result{RequeueAfter: d.wait}, nil
	case d.patch == nil:
		r.memory.setSource(req.NamespacedName, d.source)
		return ctrl.Result{}, nil
	}

	// The response is not used. Metadata is the smallest response of the API server.
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	target.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, d.patch), client.FieldOwner(fieldOwner))
	switch {
	case apierrors.IsConflict(err):
		statusWrites.WithLabelValues(resultConflict).Inc()
		r.memory.returnFeedback(req.NamespacedName, seen)
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		statusWrites.WithLabelValues(resultError).Inc()
		r.memory.returnFeedback(req.NamespacedName, seen)
		return ctrl.Result{}, fmt.Errorf("patch status of Application %s: %w", req, err)
	}
	r.memory.setSource(req.NamespacedName, d.source)
	statusWrites.WithLabelValues(resultWritten).Inc()
	if !seen.IsZero() {
		feedbackSeconds.Observe(r.now().Sub(seen).Seconds())
	}
	return ctrl.Result{}, nil
}

// application reads an Application with its status.
func (r *Reconciler) application(ctx context.Context, key types.NamespacedName) (*argocd.Application, error) {
	app := &argocd.Application{}
	err := r.client.Get(ctx, key, app, client.UnsafeDisableDeepCopy)
	if err != nil || !manifestcache.Reduced(app) {
		return app, err
	}
	return appcache.Whole(ctx, r.live, app, math.MaxInt)
}

// plan is what has to be done about the status of an Application.
type plan struct {
	// patch is the patch to send, or nil.
	patch []byte
	// source is the UID of the ManifestWork from which the new status comes.
	source types.UID
	// wait is how long the status must not be written (see [delay]).
	wait time.Duration
}

func (r *Reconciler) decide(ctx context.Context, app *argocd.Application) (d plan, err error) {
	key := client.ObjectKeyFromObject(app)
	works, err := r.works(key)
	if err != nil {
		return d, err
	}
	if !isPulled(app) {
		if !r.delivers(app, works) {
			r.memory.put(key, entry{})
			d.patch, err = removeOwnedConditionsPatch(app, r.now())
			return d, err
		}
		if app.Spec == nil { // the cache keeps no spec and status of one without label and annotation
			if app, err = appcache.Live(ctx, r.live, app); err != nil {
				return d, err
			}
		}
	}
	work := current(app, works)
	if work == nil {
		if !ownsStatusWhenUndelivered(app) {
			r.memory.put(key, entry{})
			return d, nil
		}
		if d.wait = r.delay(key, facts{initial: !hasHealth(app.Status)}); d.wait > 0 {
			return d, nil
		}
		d.patch, err = statusPatch(app, status.Nothing(), request.Run{}, "", r.now())
		return d, err
	}
	state, err := r.cluster(ctx, work.Namespace)
	if err != nil {
		return d, err
	}
	observed := work.Observe(state)
	if observed.Compared() && payload.Undelivered(app, work) {
		observed = observed.Undelivered()
	}
	run := request.RunOf(app, work)
	d.wait = r.delay(key, facts{
		initial: !observed.Reported && observed.Reason == "" && !hasHealth(app.Status),
		work:    work.UID, generation: work.Generation,
		reported: &work.Facts, reason: observed.Reason, shown: status.ShowsReason(app.Status), shownLost: status.ShowsUnreachable(app.Status),
		requested: run.Waits,
	})
	if d.wait > 0 {
		return d, nil
	}
	d.source = observed.Work
	d.patch, err = statusPatch(app, observed, run, r.memory.source(key), r.now())
	return d, err
}

// initialStatusOfEach extends the wait for each other Application without a first status. An API
// server handles at least a hundred of them a second.
const initialStatusOfEach = 10 * time.Millisecond

// delay returns how long the status of an Application must wait before it is written, or zero.
//
// The managed cluster of a new Application reports soon. Writing "Unknown" first would cost a
// second write for every Application of a fleet that is delivered at once. It would slow the
// delivery of the others. How long the first report takes depends on how many others wait, so the
// Application is checked again earlier.
func (r *Reconciler) delay(app types.NamespacedName, f facts) time.Duration {
	o := r.options
	e, others := r.memory.of(app)
	f.initial = f.initial && o.InitialStatusTimeout > 0
	f.graces = graces{initial: o.InitialStatusTimeout + time.Duration(others)*initialStatusOfEach, apply: o.ApplyGrace, compare: o.CompareGrace}
	e, wait := delay(e, f, r.now())
	r.memory.put(app, e)
	if f.initial {
		return min(wait, o.InitialStatusTimeout)
	}
	return wait
}

// isPulled reports whether an Application asks for pull delivery.
func isPulled(app *argocd.Application) bool {
	return contract.IsPulled(app.Labels) && app.Annotations[contract.ClusterAnnotation] != ""
}

// delivers reports whether an Application that is not pulled is still delivered, or was until now:
// the removal may be held or paused, or wait for the agent. If the hub's own Argo CD does not skip
// the Application, Argo CD writes the status.
func (r *Reconciler) delivers(app *argocd.Application, works []*manifestcache.Work) bool {
	return argocd.SkipsReconcile(app.Annotations) && (r.memory.source(client.ObjectKeyFromObject(app)) != "" ||
		slices.ContainsFunc(works, func(w *manifestcache.Work) bool { return payload.IsOwnWork(app, w) || payload.Delivers(app, w) }))
}

// ownsStatusWhenUndelivered reports whether this package writes the status of an Application
// without a work. The status becomes Unknown, because it describes an earlier cluster. If the hub's
// own Argo CD does not skip the Application, Argo CD writes the status. An Application that is
// being deleted keeps its last status.
func ownsStatusWhenUndelivered(app *argocd.Application) bool {
	return argocd.SkipsReconcile(app.Annotations) && app.DeletionTimestamp.IsZero()
}

// current returns the ManifestWork that delivers the Application to its cluster, or nil. The work on
// an earlier cluster does not count while the Application moves. If the Application names no
// cluster, its youngest own work counts.
func current(app *argocd.Application, works []*manifestcache.Work) *manifestcache.Work {
	// A work in deletion may report on an earlier Application of the same name.
	works = slices.DeleteFunc(slices.Clone(works), func(w *manifestcache.Work) bool {
		return w.DeletionTimestamp != nil && app.DeletionTimestamp.IsZero()
	})
	if app.Annotations[contract.ClusterAnnotation] == "" {
		return payload.YoungestOwnWork(app, works)
	}
	return payload.CurrentWork(app, works)
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
