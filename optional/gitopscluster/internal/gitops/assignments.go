// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// clusterKey is a cluster in the namespace of an Argo CD.
type clusterKey struct{ namespace, cluster string }

// assignment is what one GitOpsCluster holds.
type assignment struct {
	namespace string
	clusters  map[string]bool
	// released are clusters that it had and does not hold any more.
	released map[string]bool
}

// Assignments is the register.Scope of GitOpsClusters: which of them hold which cluster
// where. It also holds what package register finds out.
type Assignments struct {
	// Every accepted cluster is registered in this namespace; "": none is by itself.
	everyIn string
	// clusters are those that package register has to reconcile.
	clusters enqueue.Queue

	// agents decides about the content of a Secret.
	agents Agents

	mu sync.Mutex
	// started: pending are the GitOpsClusters that have not been reconciled since.
	started bool
	pending map[types.NamespacedName]bool
	held    map[types.NamespacedName]assignment
	// used are the holders that package register has acted for last.
	used  map[clusterKey][]string
	taken map[clusterKey]string
	// changed is called, without the lock, when a Secret of another writer is added or removed.
	changed func(namespace string)
}

var _ register.Scope = &Assignments{}

// NewAssignments returns empty ones. everyIn is the namespace in which every accepted
// cluster is registered, "" for none.
func NewAssignments(everyIn string) *Assignments {
	return &Assignments{
		everyIn: everyIn, agents: none{}, changed: func(string) {},
		held: map[types.NamespacedName]assignment{}, used: map[clusterKey][]string{}, taken: map[clusterKey]string{},
	}
}

// Requeue is for the register.Options.
func (r *Assignments) Requeue() source.Source { return r.clusters.Source() }

// Want implements [register.Scope].
func (r *Assignments) Want(namespace, cluster string) clustersecret.Want {
	want := r.holders(namespace, cluster)
	if want.Registered {
		shape(r.agents.Shape, &want, namespace, cluster)
	}
	return want
}

// holders returns which GitOpsClusters hold a cluster, and which have released it.
func (r *Assignments) holders(namespace, cluster string) clustersecret.Want {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := clustersecret.Want{Registered: namespace == r.everyIn, Decided: r.started && len(r.pending) == 0}
	for owner, a := range r.held {
		if a.namespace == namespace && a.clusters[cluster] {
			want.Holders = append(want.Holders, owner.String())
		}
		if a.namespace == namespace && a.released[cluster] {
			want.Released = append(want.Released, owner.String())
		}
	}
	slices.Sort(want.Holders)
	want.Registered = want.Registered || len(want.Holders) > 0
	if p := (clusterKey{namespace, cluster}); len(want.Holders) > 0 {
		r.used[p] = want.Holders
	} else {
		delete(r.used, p)
	}
	return want
}

// Taken implements [register.Scope].
func (r *Assignments) Taken(namespace, cluster, secret string) {
	r.mu.Lock()
	p := clusterKey{namespace, cluster}
	before := r.taken[p]
	if secret == "" {
		delete(r.taken, p)
	} else {
		r.taken[p] = secret
	}
	changed := r.changed
	r.mu.Unlock()
	if before != secret {
		changed(namespace)
	}
}

// notifyChanged has the GitOpsClusters of an Argo CD reconciled.
func (r *Assignments) notifyChanged(namespace string) {
	r.mu.Lock()
	changed := r.changed
	r.mu.Unlock()
	changed(namespace)
}

// onChange registers f, which is called when a Secret of another writer is added or removed.
func (r *Assignments) onChange(f func(namespace string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = f
}

func (r *Assignments) takenBy(namespace, cluster string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[clusterKey{namespace, cluster}]
}

// start records the existing GitOpsClusters. Until each was reconciled, no cluster is removed.
func (r *Assignments) start(owners []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.pending = true, map[types.NamespacedName]bool{}
	for _, owner := range owners {
		r.pending[owner] = true
	}
}

// set records what a GitOpsCluster holds and what it has released, and returns the clusters with a
// change. last is true if it was the last pending one.
func (r *Assignments) set(owner types.NamespacedName, is assignment) (news []string, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.held[owner]
	r.held[owner] = is
	if len(is.clusters) == 0 && len(is.released) == 0 {
		delete(r.held, owner)
	}
	moved := before.namespace != is.namespace
	for _, pair := range [][2]map[string]bool{{before.clusters, is.clusters}, {is.clusters, before.clusters}, {before.released, is.released}, {is.released, before.released}} {
		for cluster := range pair[0] {
			if moved || !pair[1][cluster] {
				news = append(news, cluster)
			}
		}
	}
	slices.Sort(news)
	waiting := r.pending[owner]
	delete(r.pending, owner)
	return slices.Compact(news), waiting && len(r.pending) == 0
}

// hasReleased reports whether a GitOpsCluster has released a cluster whose Secret the cache still
// has.
func (r *Assignments) hasReleased(owner types.NamespacedName, namespace, cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.held[owner]
	return is.namespace == namespace && is.released[cluster]
}

// inUse reports whether package register may still be acting for a GitOpsCluster.
func (r *Assignments) inUse(owner types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, holders := range r.used {
		if slices.Contains(holders, owner.String()) {
			return true
		}
	}
	return false
}

// others returns who else holds a cluster.
func (r *Assignments) others(owner types.NamespacedName, namespace, cluster string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for other := range maps.Keys(r.held) {
		if a := r.held[other]; other != owner && a.namespace == namespace && a.clusters[cluster] {
			names = append(names, other.String())
		}
	}
	slices.Sort(names)
	return names
}

// enqueue has package register reconcile clusters.
func (r *Assignments) enqueue(clusters ...string) {
	for _, name := range clusters {
		r.clusters.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
}
