// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// sweepInterval is the time between two sweeps. Events leave almost nothing for a sweep to find, so
// its cost decides: one list of metadata, and one pass over the cache.
const sweepInterval = 10 * time.Minute

// sweeper finds changes that events have missed. It restores the pull label on works that have lost
// it. The cache selects works by this label, so a work without it would be neither updated nor
// removed. The sweeper lists such works before the first reconcile and at every sweep. A reconcile
// of an Application restores the label of the works that concern it. A sweep also enqueues
// Applications with works on the wrong cluster.
type sweeper struct {
	client client.Client
	live   client.Reader
	index  *manifestcache.Index
	// lost has each [lostWork] by the key of its work.
	lost toolscache.ThreadSafeStore
	// queue is the queue of the Applications, after Start was called.
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	interval time.Duration
}

// lostWork is a work that the cache does not have, probably because its label is missing, and the
// Application that it carries. Its label is not restored again before a time, because an agent may
// keep removing it.
type lostWork struct {
	uid       types.UID
	work, app types.NamespacedName
	again     time.Time
}

// missing has the works of an Application that the cache does not have until their label is restored.
type missing struct {
	// works are on other clusters than the Application's.
	works []types.UID
	// own is true if one of them is named as the Application's own.
	own bool
}

// restorePause is the time between two restored labels of a work.
const restorePause = 5 * time.Second

// lostByName indexes them by the Application's name, which is the same on the cluster.
const lostByName = "name"

func newSweeper(c clients) *sweeper {
	byName := func(o any) ([]string, error) {
		lost, ok := o.(lostWork)
		if !ok {
			return nil, fmt.Errorf("%T is no work without the label", o)
		}
		return []string{lost.app.Name}, nil
	}
	return &sweeper{
		client: c.client, live: c.live, index: c.index, interval: cmp.Or(c.options.sweepInterval, sweepInterval),
		lost: toolscache.NewThreadSafeStore(toolscache.Indexers{lostByName: byName}, toolscache.Indices{}),
	}
}

// left records a work that has left the cache, even if the work is being deleted. A work in
// deletion still delivers, and an agent may remove its label. A deleted work costs restore one
// request.
func (s *sweeper) left(work client.Object) {
	app, named := manifestcache.ClaimantOf(work)
	if !named {
		return
	}
	lost := lostWork{uid: work.GetUID(), work: client.ObjectKeyFromObject(work), app: app}
	if o, known := s.lost.Get(lost.work.String()); known {
		if before, ok := o.(lostWork); ok {
			lost.again = before.again
		}
	}
	s.lost.Add(lost.work.String(), lost)
}

// restore restores the label of the works that concern an Application. Such a work carries the
// Application, or may deliver its identity on its cluster. app is nil if the Application does not
// exist. The error is a conflict until the cache has the works on the Application's cluster. If a
// reconcile did not wait for the cache, it could deliver the Application a second time. Works on
// other clusters are returned as missing, because their agents must not delay this one. If one of
// them is the Application's own, the Application may not be released yet. An agent may have a work
// name any Application, but does not choose the name of the work. A deleted Application is neither
// delivered nor released, so it waits for no work.
func (s *sweeper) restore(ctx context.Context, key types.NamespacedName, app *argocd.Application) (m missing, err error) {
	found, err := s.lost.ByIndex(lostByName, key.Name)
	if err != nil {
		return m, fmt.Errorf("look up ManifestWorks without label %s: %w", contract.PullLabel, err)
	}
	for _, o := range found {
		lost, ok := o.(lostWork)
		onTarget := ok && app != nil && app.Annotations[contract.ClusterAnnotation] == lost.work.Namespace
		if !ok || lost.app != key && !onTarget {
			continue
		}
		err := s.restoreWork(ctx, lost)
		switch {
		case err == nil && time.Now().After(lost.again):
			s.lost.Delete(lost.work.String())
		case err == nil:
		case onTarget:
			return m, err
		default:
			m.works = append(m.works, lost.uid)
			m.own = m.own || app != nil && slices.Contains(payload.WorkNames(app), lost.work.Name)
			if !apierrors.IsConflict(err) {
				ctrl.LoggerFrom(ctx).Error(err, "cannot restore the label of a ManifestWork", "work", lost.work.String())
			}
		}
	}
	return m, nil
}

// restoreWork restores the label of a work. It returns nil once the cache has the work, or if the
// work does not exist or is not ours.
func (s *sweeper) restoreWork(ctx context.Context, lost lostWork) error {
	cached, err := s.index.Of(lost.app)
	if err != nil || slices.ContainsFunc(cached, func(w *manifestcache.Work) bool { return client.ObjectKeyFromObject(w) == lost.work }) {
		return err
	}
	behind := apierrors.NewConflict(workv1.Resource("manifestworks"), lost.work.Name, errors.New("the cache does not have it yet"))
	if time.Now().Before(lost.again) {
		return behind
	}
	live, err := readObject(ctx, s.live, lost.work, &workv1.ManifestWork{})
	if err != nil || live == nil {
		return err
	}
	app, _ := manifestcache.ClaimantOf(live)
	if app != lost.app || payload.DeliveredBy(&live.Spec).Name != app.Name {
		return nil // it only has our annotations
	}
	if live.Labels[contract.PullLabel] != "true" {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": live.ResourceVersion, "labels": map[string]string{contract.PullLabel: "true"},
		}})
		if err != nil {
			return fmt.Errorf("encode label patch: %w", err)
		}
		target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: live.Namespace, Name: live.Name}}
		target.SetGroupVersionKind(appcache.WorkKind)
		if err := s.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("label ManifestWork %s: %w", lost.work, err)
		}
		lost.again = time.Now().Add(restorePause)
		s.lost.Add(lost.work.String(), lost)
		worksWritten.WithLabelValues("update").Inc()
		ctrl.LoggerFrom(ctx).Info("put the pull label back onto a ManifestWork", "cluster", live.Namespace, "work", live.Name, "application", app.String())
	}
	return behind
}

// lacks reports whether the cache lacks a work that was found without its label. A work that the
// cache has may still be recorded, for the time of its next label.
func (s *sweeper) lacks() bool {
	return slices.ContainsFunc(s.lost.List(), func(o any) bool {
		lost, ok := o.(lostWork)
		if !ok {
			return false
		}
		cached, err := s.index.Named(lost.work.Namespace, lost.work.Name)
		return err != nil || cached == nil
	})
}

// keys returns the Applications that exist, or have a work.
func (s *sweeper) keys(ctx context.Context) (map[types.NamespacedName]bool, error) {
	var apps argocd.ApplicationList
	if err := s.client.List(ctx, &apps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Applications: %w", err)
	}
	keys := make(map[types.NamespacedName]bool, len(apps.Items))
	for i := range apps.Items {
		if contract.IsPulled(apps.Items[i].Labels) {
			keys[client.ObjectKeyFromObject(&apps.Items[i])] = true
		}
	}
	for _, work := range s.index.All() {
		if app, ours := work.Application(); ours {
			keys[app] = true
		}
	}
	return keys, nil
}

// onCluster counts the works on a cluster that are not being deleted.
func (s *sweeper) onCluster(cluster string) (count int) {
	for _, work := range s.index.All() {
		if work.Namespace == cluster && work.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

// list records the works without the label and enqueues their Applications.
func (s *sweeper) list(ctx context.Context) error {
	found, err := unlabelled(ctx, s.live)
	if err != nil {
		return err
	}
	for _, lost := range found {
		s.lost.Add(lost.work.String(), lost)
		s.enqueue(lost.app)
	}
	return nil
}

// enqueue adds an Application with a lower priority than changed ones.
func (s *sweeper) enqueue(app types.NamespacedName) {
	request := reconcile.Request{NamespacedName: app}
	if q, ok := s.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, request)
		return
	}
	s.queue.Add(request)
}

// Start begins to sweep, as a source of controller-runtime does. [sweeper.WaitForSync] makes the
// first list of works without the label.
func (s *sweeper) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.queue = queue
	go func() {
		for {
			if err := s.enqueueMismatched(ctx); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot check all ManifestWorks for missed events", "again", s.interval.String())
			}
			if !clock.Sleep(ctx, s.interval) {
				return
			}
			if err := s.list(ctx); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot look for ManifestWorks without the label", "again", s.interval.String())
			}
		}
	}()
	return nil
}

// WaitForSync lists the works without the label, before any Application is reconciled.
func (s *sweeper) WaitForSync(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, boot.ConflictDelay, true, func(ctx context.Context) (bool, error) {
		err := s.list(ctx)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot look for ManifestWorks without the label; trying again")
		}
		return err == nil, nil
	})
}

// enqueueMismatched enqueues the Applications that [mismatched] returns. Their reconcile reads
// everything again before it writes.
func (s *sweeper) enqueueMismatched(ctx context.Context) error {
	var apps argocd.ApplicationList
	if err := s.client.List(ctx, &apps, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Applications: %w", err)
	}
	for _, key := range mismatched(apps.Items, s.index.All()) {
		s.enqueue(key)
	}
	return nil
}

// mismatched returns the Applications with works on another cluster than their annotation names,
// and deleted Applications that still have works.
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
		if cluster, exists := wanted[key]; !exists || cluster != work.Namespace {
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

const (
	// notPulled selects the ManifestWorks that the cache does not have.
	notPulled = contract.PullLabel + "!=true"
	// pageSize is how many of them are listed in one request.
	pageSize = 500
)

// unlabelled returns the works without the label that name an Application. It lists metadata in
// pages, because nearly all of these works belong to other writers.
func unlabelled(ctx context.Context, live client.Reader) (found []lostWork, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appcache.WorkKind.GroupVersion().WithKind(appcache.WorkKind.Kind + "List"))
	for {
		options := &client.ListOptions{Limit: pageSize, Continue: list.Continue, Raw: &metav1.ListOptions{LabelSelector: notPulled}}
		if err := live.List(ctx, list, options); err != nil {
			return nil, fmt.Errorf("list ManifestWorks without label %s: %w", contract.PullLabel, err)
		}
		for i := range list.Items {
			if app, named := manifestcache.ClaimantOf(&list.Items[i]); named {
				found = append(found, lostWork{uid: list.Items[i].UID, work: client.ObjectKeyFromObject(&list.Items[i]), app: app})
			}
		}
		if list.Continue == "" {
			return found, nil
		}
	}
}
