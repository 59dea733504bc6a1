// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// sweepInterval is the time between two sweeps. Events leave a sweep nothing to find, so that
// its cost decides: a list of metadata, and a look at what is cached.
const sweepInterval = 10 * time.Minute

// sweeper finds what events have missed. It puts the pull label back onto works that have
// lost it: the cache selects works by it, and what the cache does not have is neither kept up
// to date nor withdrawn. It looks at works that leave the cache, and at all of the hub before
// the first Application is reconciled and at every sweep. A sweep also enqueues the
// Applications whose works are not where they belong.
type sweeper struct {
	*gatherer
	*identities
	// queue is that of the Applications, once started is closed.
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	started  chan struct{}
	interval time.Duration
}

// lostWork is a work that has left the cache without being deleted first, the Application
// that it carried, and what that was called on the managed cluster.
type lostWork struct{ work, app, delivered types.NamespacedName }

// watch adds the controller of the works that leave the cache.
func (s *sweeper) watch(mgr ctrl.Manager) error {
	c, err := controller.NewTyped("labels", mgr, controller.TypedOptions[lostWork]{
		MaxConcurrentReconciles: s.options.Concurrency, Reconciler: reconcile.TypedFunc[lostWork](s.reconcile),
	})
	if err != nil {
		return fmt.Errorf("watch labels of ManifestWorks: %w", err)
	}
	left := handler.TypedFuncs[client.Object, lostWork]{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[lostWork]) {
			app, lost := lostOf(e.Object)
			if !lost {
				return
			}
			left := lostWork{work: client.ObjectKeyFromObject(e.Object), app: app}
			if work, ok := e.Object.(*manifestcache.Work); ok {
				left.delivered, _ = work.Delivers()
			}
			q.Add(left)
		},
	}
	if err := c.Watch(source.TypedKind[client.Object](mgr.GetCache(), &workv1.ManifestWork{}, left)); err != nil {
		return fmt.Errorf("watch labels of ManifestWorks: %w", err)
	}
	return nil
}

// lostOf returns the Application of a work that has left the cache and may still be there.
func lostOf(work client.Object) (app types.NamespacedName, lost bool) {
	app, named := manifestcache.ClaimantOf(work)
	return app, named && work.GetDeletionTimestamp() == nil
}

// reconcile restores the label of a work. Its Application is reconciled when the cache has
// the work again, or here when it is gone, with those that want to be what it delivered: it
// is not to be delivered once more beside it.
func (s *sweeper) reconcile(ctx context.Context, lost lostWork) (ctrl.Result, error) {
	restored, err := s.restore(ctx, lost.work)
	if err != nil || restored != nil {
		return ctrl.Result{}, err
	}
	select {
	case <-s.started:
		for _, request := range append(s.claimantRequests(ctx, lost.work.Namespace, lost.delivered), reconcile.Request{NamespacedName: lost.app}) {
			s.queue.Add(request)
		}
	case <-ctx.Done():
	}
	return ctrl.Result{}, nil
}

// restore puts the label back onto a work of ours; nil when it is none, or needs nothing.
func (s *sweeper) restore(ctx context.Context, key types.NamespacedName) (*workv1.ManifestWork, error) {
	live, err := s.liveWork(ctx, key)
	if err != nil || live == nil || live.Labels[contract.PullLabel] == "true" {
		return nil, err
	}
	app, named := manifestcache.ClaimantOf(live)
	if !named || payload.DeliveredBy(&live.Spec).Name != app.Name {
		return nil, nil // it only carries our annotations
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": live.ResourceVersion, "labels": map[string]string{contract.PullLabel: "true"},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode label patch: %w", err)
	}
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	target.SetGroupVersionKind(appcache.WorkKind)
	if err := s.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("label ManifestWork %s: %w", key, err))
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("put the pull label back onto a ManifestWork", "cluster", key.Namespace, "work", key.Name, "application", app.String())
	return live, nil
}

// restoreAll restores the labels of all works of the hub. It lists metadata of the works
// without the label alone, which others have made, in pages. A work whose label cannot be
// restored costs itself only: it is logged, and tried again at the next sweep.
func (s *sweeper) restoreAll(ctx context.Context) (restored []*workv1.ManifestWork, err error) {
	found, err := s.unlabelled(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, key := range found {
		work, err := s.restore(ctx, key)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot restore the label of a ManifestWork", "cluster", key.Namespace, "work", key.Name, "again", s.interval.String())
			continue
		}
		if work != nil {
			restored = append(restored, work)
		}
	}
	return restored, nil
}

// Start implements [source.Source]: it sweeps from now on. At first the labels are restored by
// [sweeper.WaitForSync].
func (s *sweeper) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.queue = queue
	close(s.started)
	go func() {
		for {
			if err := s.enqueueMismatched(ctx); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot check all ManifestWorks for missed events", "again", s.interval.String())
			}
			if !clock.Sleep(ctx, s.interval) {
				return
			}
			if _, err := s.restoreAll(ctx); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot restore the labels of ManifestWorks", "again", s.interval.String())
			}
		}
	}()
	return nil
}

// enqueueMismatched enqueues the Applications and works that do not belong together: they are
// read again before anything is written.
func (s *sweeper) enqueueMismatched(ctx context.Context) error {
	var apps argocd.ApplicationList
	if err := s.client.List(ctx, &apps, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Applications: %w", err)
	}
	for _, key := range mismatched(apps.Items, s.index.All()) {
		s.queue.Add(reconcile.Request{NamespacedName: key})
	}
	return nil
}

// mismatched returns the Applications whose works are not where their annotation
// says, Applications that are gone but have works among them.
func mismatched(apps []argocd.Application, works []*manifestcache.Work) []types.NamespacedName {
	wanted := make(map[types.NamespacedName]string, len(apps))
	for i := range apps {
		if contract.IsPulled(apps[i].Labels) && apps[i].DeletionTimestamp == nil {
			wanted[client.ObjectKeyFromObject(&apps[i])] = apps[i].Annotations[contract.ClusterAnnotation]
		}
	}
	var keys []types.NamespacedName
	found := make(map[types.NamespacedName]bool, len(works))
	for _, work := range works {
		key, ours := work.Application()
		if !ours {
			continue
		}
		if cluster, there := wanted[key]; !there || cluster != work.Namespace {
			keys = append(keys, key)
		}
		found[key] = true
	}
	for key, cluster := range wanted {
		if cluster != "" && !found[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// WaitForSync restores the labels of all works and waits for the cache to have these: an
// Application that is reconciled before is delivered once more.
func (s *sweeper) WaitForSync(ctx context.Context) error {
	var missing []*workv1.ManifestWork
	listed := false
	err := wait.PollUntilContextCancel(ctx, boot.ConflictDelay, true, func(ctx context.Context) (bool, error) {
		if !listed {
			restored, err := s.restoreAll(ctx)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot restore the labels of ManifestWorks; trying again")
				return false, nil
			}
			missing, listed = restored, true
		}
		missing = slices.DeleteFunc(missing, func(w *workv1.ManifestWork) bool {
			app, _ := manifestcache.ClaimantOf(w)
			cached, err := s.index.Of(app)
			if err == nil && slices.ContainsFunc(cached, func(c *manifestcache.Work) bool { return c.UID == w.UID }) {
				return true
			}
			live, err := s.liveWork(ctx, client.ObjectKeyFromObject(w))
			return err == nil && (live == nil || live.UID != w.UID || live.Labels[contract.PullLabel] != "true")
		})
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("restore the labels of ManifestWorks: %w", err)
	}
	return nil
}

const (
	// notPulled selects the ManifestWorks that the cache leaves out.
	notPulled = contract.PullLabel + "!=true"
	// pageSize is how many of them are listed at a time.
	pageSize = 500
)

// unlabelled returns the works without the label, in a cluster's namespace or in all, that
// name an Application.
func (f *gatherer) unlabelled(ctx context.Context, cluster string) (found []types.NamespacedName, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appcache.WorkKind.GroupVersion().WithKind(appcache.WorkKind.Kind + "List"))
	for {
		options := &client.ListOptions{Namespace: cluster, Limit: pageSize, Continue: list.Continue, Raw: &metav1.ListOptions{LabelSelector: notPulled}}
		if err := f.live.List(ctx, list, options); err != nil {
			return nil, fmt.Errorf("list ManifestWorks without label %s: %w", contract.PullLabel, err)
		}
		for i := range list.Items {
			if _, named := manifestcache.ClaimantOf(&list.Items[i]); named {
				found = append(found, client.ObjectKeyFromObject(&list.Items[i]))
			}
		}
		if list.Continue == "" {
			return found, nil
		}
	}
}
