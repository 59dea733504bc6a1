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
	asked   unanswered
}

// Reconcile mirrors one Application.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	since, timed := r.arrived.take(req.NamespacedName)
	app := &argocd.Application{}
	if err := r.client.Get(ctx, req.NamespacedName, app, client.UnsafeDisableDeepCopy); err != nil {
		r.waiting.forget(req.NamespacedName)
		r.unheard.forget(req.NamespacedName)
		r.asked.forget(req.NamespacedName)
		if apierrors.IsNotFound(err) {
			r.spoken.note(req.NamespacedName, "")
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	d, err := r.decide(ctx, app)
	switch {
	case errors.Is(err, appstatus.ErrMalformed):
		return ctrl.Result{}, reconcile.TerminalError(fmt.Errorf("status of Application %s is not changed: %w", req, err))
	case err != nil:
		return ctrl.Result{}, err
	case d.wait > 0:
		r.arrived.giveBack(req.NamespacedName, since, timed)
		return ctrl.Result{RequeueAfter: d.wait}, nil
	case d.patch == nil:
		r.spoken.note(req.NamespacedName, d.speaker)
		return ctrl.Result{}, nil
	}

	// The answer is not read: metadata is the least that the API server sends.
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	target.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, d.patch), client.FieldOwner(fieldOwner))
	if d.refresh != "" {
		r.options.Refreshes.Ended(req.NamespacedName, d.refresh, app.ResourceVersion, err)
	}
	switch {
	case apierrors.IsConflict(err):
		statusWrites.WithLabelValues(resultConflict).Inc()
		r.arrived.giveBack(req.NamespacedName, since, timed)
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		statusWrites.WithLabelValues(resultError).Inc()
		r.arrived.giveBack(req.NamespacedName, since, timed)
		return ctrl.Result{}, fmt.Errorf("patch status of Application %s: %w", req, err)
	}
	r.spoken.note(req.NamespacedName, d.speaker)
	statusWrites.WithLabelValues(resultWritten).Inc()
	if timed {
		feedbackSeconds.Observe(r.now().Sub(since).Seconds())
	}
	if d.refresh != "" {
		ctrl.LoggerFrom(ctx).V(1).Info("refresh ended", "request", d.refresh)
	}
	return ctrl.Result{}, nil
}

// decision is what to do about an Application.
type decision struct {
	// patch is to be sent, nil for none.
	patch []byte
	// speaker is the UID of the ManifestWork that the status then speaks of.
	speaker types.UID
	// refresh is the identity of the refresh that patch takes off the Application, if any.
	refresh string
	// wait is for an agent that is about to apply a change, for an Argo CD that is about to
	// compare for one, or for the first word.
	wait time.Duration
}

func (r *Reconciler) decide(ctx context.Context, app *argocd.Application) (d decision, err error) {
	key := client.ObjectKeyFromObject(app)
	cluster, pulled := target(app)
	if !pulled {
		r.waiting.forget(key)
		r.unheard.forget(key)
		r.asked.forget(key)
		d.patch, err = removeOwnedConditionsPatch(app, r.now())
		return d, err
	}
	work, err := r.work(app)
	if err != nil {
		return d, err
	}
	if work == nil {
		r.waiting.forget(key)
		r.asked.forget(key)
		if !ownsStatusWhenUndelivered(app) {
			return d, nil
		}
		if d.wait = r.firstWord(app, &workv1.ManifestWork{}, true); d.wait > 0 {
			return d, nil
		}
		d.patch, err = statusPatch(app, status.Nothing(), "", r.now())
		return d, err
	}
	state, err := r.cluster(ctx, cluster)
	if err != nil {
		return d, err
	}
	facts := status.Read(work)
	observed := facts.Observe(state)
	if d.wait = r.firstWord(app, work, !observed.Reported && observed.Reason == ""); d.wait > 0 {
		return d, nil
	}
	if d.wait = r.waiting.left(key, work, observed.Reason == status.ChangePending, r.now(), r.options.ApplyGrace); d.wait > 0 {
		return d, nil
	}
	if d.wait = r.asked.left(key, facts, observed.Reason, status.ShowsPending(app.Status), r.now(), r.options.CompareGrace); d.wait > 0 {
		return d, nil
	}
	d.speaker = observed.Work
	if d.patch, err = statusPatch(app, observed, r.spoken.of(key), r.now()); err != nil || d.patch == nil {
		return d, err
	}
	return r.withRefresh(app, work, observed, d)
}

// withRefresh has the patch take a refresh off the Application that the managed cluster has
// compared for: what the patch says is the answer to it, and a write less.
func (r *Reconciler) withRefresh(app *argocd.Application, work *workv1.ManifestWork, observed status.Observation, d decision) (decision, error) {
	key := client.ObjectKeyFromObject(app)
	id := r.options.Refreshes.Done(app, work)
	if id == "" || apierrors.IsConflict(r.options.Refreshes.End(key, id, app.ResourceVersion)) {
		return d, nil
	}
	patch, err := statusPatch(app, observed, r.spoken.of(key), r.now(), request.RefreshAnnotations()...)
	if err != nil {
		r.options.Refreshes.Ended(key, id, app.ResourceVersion, err)
		return d, err
	}
	d.patch, d.refresh = patch, id
	return d, nil
}

// firstWordOfEach is how much longer it may take for each other Application that waits for
// its first word, too: an API server takes a hundred of them a second, at least.
const firstWordOfEach = 10 * time.Millisecond

// firstWord returns how long a new Application may still be left without a health:
// its managed cluster is about to say it, and "Unknown" before that would be a
// second write for every Application of a fleet that is delivered at once, and keep
// the API server from delivering the rest. A status that says something is corrected
// without waiting. What it returns may be less than it will be in the end, which depends
// on how many others wait.
func (r *Reconciler) firstWord(app *argocd.Application, work *workv1.ManifestWork, silent bool) time.Duration {
	pending := silent && r.options.FirstWord > 0 && !speaks(app.Status)
	grace := r.options.FirstWord + time.Duration(r.unheard.count())*firstWordOfEach
	return min(r.options.FirstWord, r.unheard.left(client.ObjectKeyFromObject(app), work, pending, r.now(), grace))
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
