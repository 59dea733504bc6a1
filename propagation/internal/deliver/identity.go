// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A cluster, and namespace and name of the Application there, are one delivered
// identity. It belongs to one hub Application: two would take turns in overwriting
// each other's, and either's end would prune what both deploy.

// claimant is a hub Application, or what is left of one, for a delivered identity.
type claimant struct {
	key     types.NamespacedName
	uid     types.UID
	created time.Time
	// copy is the name of its work that delivers the identity, "" without one.
	copy string
	// wants: it is there and asks for the identity. Otherwise only its copy is left.
	wants bool
}

// isOlder reports whether a came before b; of two of the same second the UID decides.
func isOlder(a, b claimant) bool {
	if a.created.Equal(b.created) {
		return a.uid < b.uid
	}
	return a.created.Before(b.created)
}

// holder returns the claimant to which the identity belongs instead of me. One with
// a copy wins over one without, else the older. What is only a copy is waited for.
func holder(me claimant, others []claimant) (best claimant, taken bool) {
	for _, o := range others {
		holds := o.copy != "" && me.copy == "" ||
			o.wants && (o.copy != "") == (me.copy != "") && isOlder(o, me)
		if holds && (!taken || precedes(o, best)) {
			best, taken = o, true
		}
	}
	return best, taken
}

// precedes reports whether a is named before b to one that is refused for both: one
// that asks before what is only left, then one with a copy, then the older.
func precedes(a, b claimant) bool {
	if a.wants != b.wants {
		return a.wants
	}
	if (a.copy != "") != (b.copy != "") {
		return a.copy != ""
	}
	return isOlder(a, b)
}

// holderOf returns the claimant to which what app wants to be on its cluster
// belongs, nil when that is app.
func (ids *identities) holderOf(ctx context.Context, app *argocd.Application, c copies) (*claimant, error) {
	others, err := ids.claimants(ctx, app, c)
	if err != nil || len(others) == 0 {
		return nil, err
	}
	me := claimant{key: client.ObjectKeyFromObject(app), uid: app.UID, created: app.CreationTimestamp.Time, wants: true}
	if c.current != nil {
		me.copy = c.current.Name
	}
	if best, taken := holder(me, others); taken {
		return &best, nil
	}
	return nil, nil
}

// claimants returns who else wants, or delivers, what app wants to be on its cluster.
func (ids *identities) claimants(ctx context.Context, app *argocd.Application, c copies) ([]claimant, error) {
	cluster := app.Annotations[contract.ClusterAnnotation]
	works, err := ids.index.Delivering(cluster, payload.DeliveredName(app))
	if err != nil {
		return nil, err
	}
	rivals, err := ids.wanting(ctx, cluster, payload.DeliveredName(app))
	if err != nil {
		return nil, err
	}
	found := map[types.NamespacedName]*claimant{}
	for _, work := range works {
		candidate, named := work.Claimant()
		if named && candidate != client.ObjectKeyFromObject(app) {
			found[candidate] = &claimant{key: candidate, copy: work.Name}
		}
	}
	for _, rival := range rivals {
		key := client.ObjectKeyFromObject(rival)
		if key == client.ObjectKeyFromObject(app) {
			continue
		}
		o := found[key]
		if o == nil {
			o = &claimant{key: key}
			// Without a copy it has a claim only if it can have one.
			if o.copy, err = ids.firstCopy(ctx, rival, c); err != nil {
				return nil, err
			}
			if o.copy == "" {
				w, err := ids.readInputs(ctx, cached(ids.client), rival)
				if err != nil {
					return nil, err
				}
				if !policy.Decide(w).Deliver {
					continue
				}
			}
			found[key] = o
		}
		o.uid, o.created, o.wants = rival.UID, rival.CreationTimestamp.Time, rival.DeletionTimestamp == nil
	}
	list := make([]claimant, 0, len(found))
	for _, o := range found {
		list = append(list, *o)
	}
	return list, nil
}

// firstCopy returns the name of the copy that a rival has got and the cache has not
// seen yet. It matters only while c, the asking Application's, has none.
func (ids *identities) firstCopy(ctx context.Context, rival *argocd.Application, c copies) (string, error) {
	if c.current != nil {
		return "", nil
	}
	name := payload.WorkNames(rival)[0]
	work, err := ids.liveWork(ctx, client.ObjectKey{Namespace: rival.Annotations[contract.ClusterAnnotation], Name: name})
	if err != nil || work == nil || payload.DeliveredBy(&work.Spec) != payload.DeliveredName(rival) {
		return "", err
	}
	return name, nil
}

// wanting returns the cached Applications that are to be on a cluster as app.
func (ids *identities) wanting(ctx context.Context, cluster string, app types.NamespacedName) ([]*argocd.Application, error) {
	var list argocd.ApplicationList
	err := ids.client.List(ctx, &list, client.MatchingFields{applicationsByIdentity: identityKey(cluster, app)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list Applications that are to be %s on cluster %s: %w", app, cluster, err)
	}
	found := make([]*argocd.Application, 0, len(list.Items)+1)
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	same, err := ids.application(ctx, app)
	if err != nil {
		return nil, err
	}
	if same != nil && contract.IsPulled(same.Labels) && same.Annotations[contract.ClusterAnnotation] == cluster && payload.DeliveredName(same) == app {
		found = append(found, same)
	}
	return found, nil
}

// claimantRequests returns the requests of the Applications that want an identity.
func (ids *identities) claimantRequests(ctx context.Context, cluster string, app types.NamespacedName) []reconcile.Request {
	apps, err := ids.wanting(ctx, cluster, app)
	if err != nil {
		return nil // the cache answers always once it is there
	}
	requests := make([]reconcile.Request, 0, len(apps))
	for _, a := range apps {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)})
	}
	return requests
}

// identities finds out to whom a delivered identity belongs.
type identities struct{ *gatherer }
