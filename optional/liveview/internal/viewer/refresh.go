// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// watchRefreshes sends the pulled Applications that argocd-server refreshes for a reader until the
// watch ends. It finds readers without an open page, such as argocd's command line. argocd-server
// refreshes an Application that it does not find in Redis, and then reads again. Since 3.0 it sets
// both annotations for such a refresh, and one annotation for a push to git. The viewer keeps
// nothing of the watch.
func (v *Viewer) watchRefreshes(ctx context.Context) {
	applications := v.Metadata.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"})
	selected := metav1.ListOptions{LabelSelector: contract.PullLabel, Limit: 1}
	var w *watchtools.RetryWatcher
	now, err := applications.List(ctx, selected)
	if err == nil {
		w, err = watchtools.NewRetryWatcherWithContext(ctx, now.ResourceVersion, &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.LabelSelector = selected.LabelSelector
				return applications.Watch(ctx, o)
			},
		})
	}
	if err != nil {
		v.Log.Error(err, "cannot watch Applications: argocd's command line has no views")
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		app, ok := event.Object.(*metav1.PartialObjectMetadata)
		if !ok || app.Annotations[argocd.RefreshAnnotation] == "" || app.Annotations[argocd.HydrateAnnotation] == "" {
			continue
		}
		select {
		case v.refreshed <- view.Instance(v.ArgoCDNamespace, app.Namespace, app.Name):
		case <-ctx.Done():
		}
	}
}
