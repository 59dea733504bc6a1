// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
)

// key returns that of the ManifestWork that requests an entry.
func (e *entry) key() client.ObjectKey {
	return client.ObjectKey{Namespace: e.target.cluster, Name: e.work}
}

// weight is how many of the [request.MaxApplications] of a ManifestWork an entry takes.
func (e *entry) weight() int {
	if e.alone {
		return request.MaxApplications
	}
	return 1
}

// list returns the ManifestWorks of views.
func (v *Viewer) list(ctx context.Context) (map[client.ObjectKey]*workv1.ManifestWork, error) {
	list := &workv1.ManifestWorkList{}
	if err := v.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the ManifestWorks of views: %w", err)
	}
	works := make(map[client.ObjectKey]*workv1.ManifestWork, len(list.Items))
	for i := range list.Items {
		works[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	return works, nil
}

// assign gives each entry the ManifestWork that requests it: the first of its cluster
// that has room.
func (v *Viewer) assign(works map[client.ObjectKey]*workv1.ManifestWork, now time.Time) {
	total, ofCluster, used := 0, map[string]int{}, map[client.ObjectKey]int{}
	count := func(e *entry) {
		total++
		ofCluster[e.target.cluster]++
		used[e.key()] += e.weight()
	}
	for _, e := range v.entries {
		if e.work != "" {
			count(e)
		}
	}
	for instance, e := range v.entries {
		if e.target == nil || e.work != "" || now.Sub(e.seen) >= v.Keep {
			continue
		}
		if total >= v.MaxOpen || ofCluster[e.target.cluster] >= (v.MaxOpen+1)/2 {
			v.report(e, instance, fmt.Sprintf("more Applications are open than --max-open=%d, or than half of it on %s", v.MaxOpen, e.target.cluster))
			continue
		}
		for number := 0; e.work == "" || used[e.key()]+e.weight() > request.MaxApplications || ending(works[e.key()]); number++ {
			e.work = request.Name(number)
		}
		count(e)
	}
}

func ending(work *workv1.ManifestWork) bool { return work != nil && work.DeletionTimestamp != nil }

// request has the ManifestWorks request what is assigned to them, and no others exist. What it
// writes again because the cache is behind is no change.
func (v *Viewer) request(ctx context.Context, works map[client.ObjectKey]*workv1.ManifestWork) error {
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
	var group errgroup.Group
	group.SetLimit(parallel)
	for key, applications := range wanted {
		group.Go(func() error { return v.write(ctx, key, works[key], applications) })
	}
	return group.Wait()
}

// write creates, patches or deletes a ManifestWork; work is what there is of it, or nil.
func (v *Viewer) write(ctx context.Context, key client.ObjectKey, work *workv1.ManifestWork, applications request.Applications) error {
	next, err := request.Work(key.Namespace, key.Name, v.Observer, applications)
	if err != nil {
		return err
	}
	switch {
	case work == nil:
		err = v.Client.Create(ctx, next)
	case ending(work):
	case len(applications) == 0:
		err = v.Client.Delete(ctx, next)
	default:
		if before, err := request.ApplicationsOf(work); err == nil && maps.Equal(before, applications) {
			return nil
		}
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"spec": map[string]any{"workload": next.Spec.Workload}}); err != nil {
			return err
		}
		only := &metav1.PartialObjectMetadata{ObjectMeta: next.ObjectMeta}
		only.SetGroupVersionKind(schema.GroupVersion(workv1.GroupVersion).WithKind("ManifestWork"))
		err = v.Client.Patch(ctx, only, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("write ManifestWork %s: %w", key, err)
	}
	return nil
}
