// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// unlabelled remembers works without the pull label, by which the cache selects: those
// that left the cache without having been deleted first, and those that a search found.
type unlabelled struct {
	mu       sync.Mutex
	works    map[types.NamespacedName]map[types.NamespacedName]bool
	searched map[string]bool // clusters
	// searches are under way, by cluster: a fleet that is delivered at once has many
	// Applications of one cluster looked at together.
	searches singleflight.Group
}

func (u *unlabelled) note(app, work types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.works == nil {
		u.works = map[types.NamespacedName]map[types.NamespacedName]bool{}
	}
	if u.works[app] == nil {
		u.works[app] = map[types.NamespacedName]bool{}
	}
	u.works[app][work] = true
}

func (u *unlabelled) forget(app, work types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if delete(u.works[app], work); len(u.works[app]) == 0 {
		delete(u.works, app)
	}
}

func (u *unlabelled) of(app types.NamespacedName) []types.NamespacedName {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.works[app]))
}

// withUnlabelled adds an Application's works whose label is gone to the cached ones.
// wish is the Application, nil when it is gone.
func (u *unlabelledWorks) withUnlabelled(ctx context.Context, app types.NamespacedName, wish *argocd.Application, works []manifestcache.Cached) ([]manifestcache.Cached, error) {
	if wish != nil {
		if err := u.searchUnlabelled(ctx, wish, works); err != nil {
			return nil, err
		}
	}
	for _, key := range u.unlabelled.of(app) {
		live, err := u.liveWork(ctx, key)
		if err != nil {
			return nil, err
		}
		if live == nil || live.Labels[contract.PullLabel] == "true" {
			u.unlabelled.forget(app, key) // gone, or the cache has it or will
			continue
		}
		if candidate, named := manifestcache.ClaimantOf(live); !named || candidate != app {
			u.unlabelled.forget(app, key)
			continue
		}
		works = append(works, *appcache.Compact(live))
	}
	return works, nil
}

// notPulled selects the ManifestWorks that the cache leaves out.
const notPulled = contract.PullLabel + "!=true"

// searchUnlabelled finds the works on an Application's target that lost their label while
// nobody watched, so that no second one is made beside them. Their names prove nothing
// when they are of an earlier life. It asks the API server once for each cluster, and
// only when an Application has no work there that the cache knows: a restart over a
// settled fleet asks nothing.
func (u *unlabelledWorks) searchUnlabelled(ctx context.Context, app *argocd.Application, works []manifestcache.Cached) error {
	cluster := app.Annotations[contract.ClusterAnnotation]
	abandon := policy.ParseDeletionPolicy(app.Annotations[contract.DeletionPolicyAnnotation], "", false).Abandon
	switch {
	case !contract.IsPulled(app.Labels) || !policy.IsClusterName(cluster) || u.unlabelled.wasSearched(cluster),
		abandon && app.DeletionTimestamp != nil,
		slices.ContainsFunc(works, func(w manifestcache.Cached) bool { return w.Namespace == cluster }):
		return nil
	}
	// A name that no cluster has is a tenant's word: it costs no request and no memory.
	if there, err := getCluster(ctx, u.client, cluster); err != nil || there == nil {
		return err
	}
	_, err, _ := u.unlabelled.searches.Do(cluster, func() (any, error) { return nil, u.searchCluster(ctx, cluster) })
	return err
}

// searchCluster notes the works on a cluster that lost their label.
func (u *unlabelledWorks) searchCluster(ctx context.Context, cluster string) error {
	if u.unlabelled.wasSearched(cluster) {
		return nil // since the caller looked
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appcache.WorkKind.GroupVersion().WithKind(appcache.WorkKind.Kind + "List"))
	if err := u.live.List(ctx, list, &client.ListOptions{Namespace: cluster, Raw: &metav1.ListOptions{LabelSelector: notPulled}}); err != nil {
		return fmt.Errorf("list ManifestWorks of cluster %s without label %s: %w", cluster, contract.PullLabel, err)
	}
	for i := range list.Items {
		named, ours := manifestcache.ClaimantOf(&list.Items[i])
		if !ours {
			continue
		}
		work, err := u.liveWork(ctx, client.ObjectKeyFromObject(&list.Items[i]))
		if err != nil {
			return err
		}
		if work != nil && payload.DeliveredBy(&work.Spec).Name == named.Name { // not one that only carries our annotations
			u.unlabelled.note(named, client.ObjectKeyFromObject(work))
		}
	}
	u.unlabelled.noteSearched(cluster)
	return nil
}

func (u *unlabelled) wasSearched(cluster string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.searched[cluster]
}

func (u *unlabelled) noteSearched(cluster string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.searched == nil {
		u.searched = map[string]bool{}
	}
	u.searched[cluster] = true
}

// unlabelledWorks finds works that the cache does not select.
type unlabelledWorks struct {
	*gatherer
	unlabelled unlabelled
}
