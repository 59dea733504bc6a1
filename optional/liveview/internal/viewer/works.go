// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
)

var workKind = schema.GroupVersion(workv1.GroupVersion).WithKind("ManifestWork")

// Caches returns the objects that the cache of a Viewer's Client must have: names and versions of
// the ManifestWorks of views. A managed cluster writes the other fields, in any size.
func Caches() map[client.Object]cache.ByObject {
	work := &metav1.PartialObjectMetadata{}
	work.SetGroupVersionKind(workKind)
	return map[client.Object]cache.ByObject{
		work: {Label: labels.SelectorFromSet(labels.Set{request.Label: "true"}), Transform: trim},
	}
}

// trim keeps the fields of a ManifestWork that the viewer reads.
func trim(o any) (any, error) {
	if work, ok := o.(*metav1.PartialObjectMetadata); ok {
		work.ObjectMeta = metav1.ObjectMeta{
			Namespace: work.Namespace, Name: work.Name, UID: work.UID, Labels: map[string]string{request.Label: work.Labels[request.Label]},
			ResourceVersion: work.ResourceVersion, Generation: work.Generation, DeletionTimestamp: work.DeletionTimestamp,
		}
	}
	return o, nil
}

// list returns the ManifestWorks of views. Works with other names do not belong to the viewer, even
// with its label.
func (v *Viewer) list(ctx context.Context) (map[client.ObjectKey]*metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(workKind)
	if err := v.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the ManifestWorks of views: %w", err)
	}
	works := make(map[client.ObjectKey]*metav1.PartialObjectMetadata, len(list.Items))
	for i := range list.Items {
		if request.IsName(list.Items[i].Name) {
			works[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
		}
	}
	return works, nil
}

// read returns a ManifestWork from the API server, or nil.
func read(ctx context.Context, live client.Reader, key client.ObjectKey) (*workv1.ManifestWork, error) {
	work := &workv1.ManifestWork{}
	if err := live.Get(ctx, key, work); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // none is an answer
		}
		return nil, fmt.Errorf("read ManifestWork %s: %w", key, err)
	}
	return work, nil
}

// assign gives each entry the ManifestWork that requests it: the first one of its cluster with
// room. Entries without a reader on an unreachable cluster do not count.
func (v *Viewer) assign(works map[client.ObjectKey]*metav1.PartialObjectMetadata, now time.Time) {
	total, ofCluster, used := 0, map[string]int{}, map[client.ObjectKey]int{}
	count := func(e *entry) {
		used[e.key()] += e.weight()
		if now.Sub(e.seen) < v.Keep {
			total++
			ofCluster[e.target.cluster]++
		}
	}
	for _, e := range v.entries {
		if e.work != "" {
			count(e)
		}
	}
	full := false
	for instance, e := range v.entries {
		if !e.unchecked() && !e.unassigned(now, v.Keep) {
			continue
		}
		if e.unchecked() || total >= v.MaxOpen || ofCluster[e.target.cluster] >= (v.MaxOpen+1)/2 {
			full = true
			v.logFull(instance, e)
			continue
		}
		for number := 0; e.work == "" || used[e.key()]+e.weight() > request.MaxApplications || ending(works[e.key()]); number++ {
			e.work = request.Name(number)
		}
		count(e)
	}
	v.full = full
}

// logFull logs, once, that an Application has no room.
func (v *Viewer) logFull(instance string, e *entry) {
	if v.full {
		return
	}
	v.full = true
	cluster := ""
	if e.target != nil {
		cluster = e.target.cluster
	}
	v.Log.Info(fmt.Sprintf("more Applications are open than --max-open=%d, or than half of it on one cluster: the others have no view", v.MaxOpen), "instance", instance, "cluster", cluster)
}

func ending(work *metav1.PartialObjectMetadata) bool {
	return work != nil && work.DeletionTimestamp != nil
}

// request makes the ManifestWorks request exactly their assigned Applications, and deletes all
// others.
func (v *Viewer) request(ctx context.Context, works map[client.ObjectKey]*metav1.PartialObjectMetadata, now time.Time) error {
	wanted := map[client.ObjectKey]request.Applications{}
	for key := range works {
		wanted[key] = request.Applications{}
	}
	for instance, e := range v.entries {
		if e.work != "" {
			if wanted[e.key()] == nil {
				wanted[e.key()] = request.Applications{}
			}
			wanted[e.key()][instance] = e.target.application
		}
	}
	maps.DeleteFunc(v.sent, func(key client.ObjectKey, _ sent) bool { return wanted[key] == nil })
	var group errgroup.Group
	group.SetLimit(parallel)
	var mu sync.Mutex
	for key, applications := range wanted {
		mu.Lock() // those before it may be written already
		last := v.sent[key]
		mu.Unlock()
		if last.holds(works[key], applications, now) {
			continue
		}
		group.Go(func() error {
			generation, err := v.write(ctx, key, works[key], last.generation > 0, applications)
			mu.Lock()
			defer mu.Unlock()
			v.sent[key] = sent{applications: applications, generation: generation, at: now, failed: err != nil}
			return err
		})
	}
	return group.Wait()
}

// holds reports whether a ManifestWork need not be written, because it is unchanged since the last
// write, or the last attempt was a moment ago. If an agent changes a work repeatedly, the viewer
// restores it each [recheck].
func (s sent) holds(work *metav1.PartialObjectMetadata, wanted request.Applications, now time.Time) bool {
	same := maps.Equal(s.applications, wanted)
	switch {
	case len(wanted) == 0:
		return ending(work) || len(s.applications) == 0 && now.Sub(s.at) < time.Second
	case ending(work):
		return true
	case s.failed:
		return now.Sub(s.at) < time.Second || same && s.generation < 0 && work == nil && now.Sub(s.at) < recheck
	case s.generation == 0:
		return false
	case same && work != nil && work.Generation <= s.generation:
		return true
	}
	return same && now.Sub(s.at) < recheck
}

// write creates, patches or deletes a ManifestWork. work is the cached one, and existing whether it
// existed. It returns the work's generation, or -1 if another writer owns it.
func (v *Viewer) write(ctx context.Context, key client.ObjectKey, work *metav1.PartialObjectMetadata, existing bool, applications request.Applications) (int64, error) {
	next, err := request.Work(key.Namespace, key.Name, v.Observer, applications)
	if err != nil {
		return 0, err
	}
	generation := int64(0)
	switch {
	case len(applications) == 0:
		err = client.IgnoreNotFound(v.Client.Delete(ctx, next))
	case work == nil && !existing:
		if err = v.Client.Create(ctx, next); apierrors.IsAlreadyExists(err) {
			return -1, fmt.Errorf("ManifestWork %s exists without the label %s: delete it, or the views of its cluster wait: %w", key, request.Label, err)
		}
		generation = next.Generation
	default:
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"metadata": map[string]any{"labels": next.Labels}, "spec": map[string]any{"workload": next.Spec.Workload}}); err != nil {
			return 0, err
		}
		only := &metav1.PartialObjectMetadata{ObjectMeta: next.ObjectMeta}
		only.SetGroupVersionKind(workKind)
		// The next pass creates a work that does not exist any more.
		err = client.IgnoreNotFound(v.Client.Patch(ctx, only, client.RawPatch(types.MergePatchType, patch)))
		generation = only.Generation
	}
	if err != nil {
		return 0, fmt.Errorf("write ManifestWork %s: %w", key, err)
	}
	return generation, nil
}
