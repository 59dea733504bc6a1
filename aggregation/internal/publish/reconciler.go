// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/index"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=multiclusterapplicationsetreports,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the report of each ApplicationSet equal to the index.
type Reconciler struct {
	cached client.Reader
	live   client.Reader
	writer client.Writer
	index  *index.Index
	store  *intermediate.Store
	pacer  *pace.Pacer
	limit  int

	tracker *tracker
	// behind computes the delay until the next check while the cache is behind.
	behind   workqueue.TypedRateLimiter[reconcile.Request]
	recorder recorder
}

// Reconcile brings one report up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	changes, wait := r.pacer.Take(req.NamespacedName, time.Now())
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	done, err := r.reconcile(ctx, req.NamespacedName, changes)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		errorsTotal.WithLabelValues("conflict").Inc()
		done, err = false, nil
	case err != nil:
		errorsTotal.WithLabelValues("api").Inc()
		done = false
	}
	if done {
		r.behind.Forget(req)
		return reconcile.Result{}, nil
	}
	r.pacer.Failed(req.NamespacedName, changes, time.Now())
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.behind.When(req)}, nil
}

// reconcile returns false when it has to be called again soon.
func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName, changes pace.Batch) (done bool, err error) {
	report, err := r.report(ctx, key)
	if err != nil {
		return false, err
	}
	foreign := report != nil && !report.own
	err = r.cached.Get(ctx, key, argocd.ApplicationSetMetadata())
	if apierrors.IsNotFound(err) {
		r.tracker.setForeign(key, "")
		if foreign {
			report = nil // it is not aggregation's to delete
		}
		return r.reconcileMissing(ctx, key, report)
	}
	if err != nil {
		return false, fmt.Errorf("get ApplicationSet: %w", err)
	}
	if foreign {
		if r.tracker.setForeign(key, report.meta.UID) {
			r.recorder.recordForeign(ctx, report.meta)
		}
		forgetMetrics(key)
		return true, nil
	}
	r.tracker.setForeign(key, "")

	view := r.index.View(key)
	if report == nil && len(view.Rows) == 0 {
		return true, nil // it has no pulled Application
	}
	if report == nil {
		return true, r.create(ctx, key, view, changes)
	}
	return true, r.update(ctx, key, report, view, changes)
}

// report returns the state of the report, or nil if it does not exist. It reads the content only if
// it is not known any more.
func (r *Reconciler) report(ctx context.Context, key types.NamespacedName) (*storedReport, error) {
	seen := Metadata()
	if err := r.cached.Get(ctx, key, seen); apierrors.IsNotFound(err) {
		seen = nil
	} else if err != nil {
		return nil, fmt.Errorf("get report: %w", err)
	}
	known := r.tracker.known(key)
	switch {
	case known == nil && seen == nil:
		r.tracker.markLoaded(key)
		return nil, nil
	case known == nil || seen != nil && (seen.UID != known.meta.UID || seen.Generation > known.meta.Generation):
		return r.load(ctx, key, known) // not read yet, or another client changed it
	case seen != nil && seen.Generation == known.meta.Generation:
		now := *known
		now.meta, now.own = seen, known.own || isOwn(seen) // another client may have changed labels and annotations
		return &now, nil
	}
	return known, nil
}

// load reads a report. Only at the first time its content can have knowledge that this process does
// not have, and only findings of search. Without a directory for intermediate reports no report has
// those. Then everything that differs was written by others.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName, known *storedReport) (*storedReport, error) {
	report, statuses, err := readReport(ctx, r.live, key)
	if err != nil {
		return nil, err
	}
	first := r.tracker.markLoaded(key)
	if report == nil {
		r.tracker.keep(key, nil)
		return nil, nil
	}
	if known != nil && known.meta.UID == report.meta.UID {
		report.own = report.own || known.own
		// The difference is invisible: a row has a field that is not in the API.
		report.rewrite = report.rewrite || known.content.Equal(&report.content)
	}
	if first && report.own && statuses != nil && !r.store.Missing() {
		r.index.Remember(key, statuses)
	}
	r.tracker.keep(key, report)
	return report, nil
}

func (r *Reconciler) create(ctx context.Context, key types.NamespacedName, view index.View, changes pace.Batch) error {
	initial := &metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{contract.ReportLabel: labelFor(key)}}
	envelope := envelopeBytes(initial)
	content := merge.Truncate(view.Rows, view.Resources, r.limit-envelope)
	content.ResourcesLeftOut += view.LeftOut
	metadata, _ := metadataFor(key, initial, &content)
	report := &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metadata, Statuses: content.Statuses()}
	if err := r.writer.Create(ctx, report, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("create report: %w", err)
	}
	r.recordWrite(ctx, key, report, content, 0)
	r.recorder.recordMetrics(key, "create", changes, envelope, &content)
	return nil
}

func (r *Reconciler) update(ctx context.Context, key types.NamespacedName, have *storedReport, view index.View, changes pace.Batch) error {
	envelope := envelopeBytes(&have.meta.ObjectMeta)
	content := merge.Truncate(view.Rows, view.Resources, r.limit-envelope)
	content.ResourcesLeftOut += view.LeftOut
	metadata, differs := metadataFor(key, &have.meta.ObjectMeta, &content)
	if !differs && !have.rewrite && have.content.Equal(&content) {
		r.tracker.keep(key, &storedReport{meta: have.meta, own: true, content: content}) // rows become pointers of the index
		r.recorder.recordMetrics(key, "", changes, envelope, &content)
		return nil
	}
	report := &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metadata, Statuses: content.Statuses()}
	if err := r.writer.Update(ctx, report, client.FieldOwner(fieldOwner)); err != nil {
		r.tracker.keep(key, nil) // the write failed with a conflict, or its result is unknown
		if apierrors.IsNotFound(err) {
			return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("multiclusterapplicationsetreports").GroupResource(), key.Name, err)
		}
		return fmt.Errorf("update report: %w", err)
	}
	r.recordWrite(ctx, key, report, content, leftOut(have.meta))
	r.recorder.recordMetrics(key, "update", changes, envelope, &content)
	return nil
}

// recordWrite keeps a report as it was written. before is the number of rows that the report left
// out until then.
func (r *Reconciler) recordWrite(ctx context.Context, key types.NamespacedName, report *v1alpha1.MulticlusterApplicationSetReport, content merge.Content, before int) {
	meta := Metadata()
	meta.ObjectMeta = report.ObjectMeta
	r.tracker.keep(key, &storedReport{meta: meta, own: true, content: content})
	r.recorder.recordLeftOut(ctx, meta, before, content.RowsLeftOut)
}

// reconcileMissing removes the report and the memory of an ApplicationSet that the cache does not
// have, once the API server confirms that it does not exist.
func (r *Reconciler) reconcileMissing(ctx context.Context, key types.NamespacedName, report *storedReport) (done bool, err error) {
	var meta *metav1.PartialObjectMetadata
	if report != nil {
		meta = report.meta
	}
	gone, deleted, err := r.prune(ctx, key, meta)
	if deleted {
		writesTotal.WithLabelValues("delete").Inc()
	}
	if err != nil {
		r.tracker.keep(key, nil)
		return false, err
	}
	if !gone {
		return false, nil // it was created just now, and will be in the cache soon
	}
	r.tracker.forget(key)
	r.index.Forget(key)
	r.pacer.Forget(key)
	forgetMetrics(key)
	return true, nil
}

// prune removes the report of an ApplicationSet if the API server confirms that the ApplicationSet
// does not exist. An error is no confirmation. report is the metadata of the observed report, or
// nil if no report exists.
func (r *Reconciler) prune(ctx context.Context, key types.NamespacedName, report *metav1.PartialObjectMetadata) (gone, deleted bool, err error) {
	err = r.live.Get(ctx, key, argocd.ApplicationSetMetadata())
	switch {
	case err == nil:
		return false, false, nil
	case !apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse): // 404 of a server without ApplicationSets
		return false, false, fmt.Errorf("get ApplicationSet: %w", err)
	case report == nil:
		return true, false, nil
	}
	// Only the observed report is deleted. If a report was created since then, it belongs to
	// another client.
	err = r.writer.Delete(ctx, report, client.Preconditions{UID: &report.UID, ResourceVersion: &report.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return true, false, fmt.Errorf("delete report: %w", err)
	}
	return true, err == nil, nil
}
