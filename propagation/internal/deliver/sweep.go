// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// sweep looks, at start and then now and again, for works and Applications that do
// not belong together and sends them through Reconcile, which reads again before it
// acts. Events should leave it nothing to find.
func (wa *watcher) sweep(ctx context.Context) error {
	tick := time.NewTicker(wa.options.SweepInterval)
	defer tick.Stop()
	for {
		if err := wa.sweepOnce(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot check all ManifestWorks for missed events", "again", wa.options.SweepInterval.String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (wa *watcher) sweepOnce(ctx context.Context) error {
	var apps argocd.ApplicationList
	if err := wa.client.List(ctx, &apps, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Applications: %w", err)
	}
	works := wa.index.All()
	there := make(map[types.UID]bool, len(works))
	for _, work := range works {
		there[work.GetUID()] = true
	}
	wa.lastApplied.prune(there)
	for _, key := range mismatched(apps.Items, works) {
		select {
		case wa.swept <- event.GenericEvent{Object: &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}:
		case <-ctx.Done():
			return nil
		}
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
