// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// place is a cluster in the namespace of an Argo CD.
type place struct{ namespace, cluster string }

// ask is what one GitOpsCluster holds.
type ask struct {
	namespace string
	clusters  map[string]bool
	// released are clusters that it had and has let go of.
	released map[string]bool
}

// Roster is the register.Scope of GitOpsClusters: who wants which cluster where. It is
// also what they learn from package register.
type Roster struct {
	// Every accepted cluster is registered in this namespace; "": none is by itself.
	everyIn string
	// again has package register look at a cluster.
	again chan event.GenericEvent

	// agents say which shape a Secret has.
	agents Agents

	mu sync.Mutex
	// started: pending are the GitOpsClusters that have not been heard since.
	started bool
	pending map[types.NamespacedName]bool
	asks    map[types.NamespacedName]ask
	// handed is who package register was told of last.
	handed map[place][]string
	taken  map[place]string
	// changed is called, without the lock, when a Secret of another writer appears or goes.
	changed func(namespace string)
}

var _ register.Scope = &Roster{}

// NewRoster returns an empty roster. everyIn is the namespace in which every accepted
// cluster is registered, "" for none.
func NewRoster(everyIn string) *Roster {
	return &Roster{
		everyIn: everyIn, agents: none{}, again: make(chan event.GenericEvent), changed: func(string) {},
		asks: map[types.NamespacedName]ask{}, handed: map[place][]string{}, taken: map[place]string{},
	}
}

// Again is for the register.Options.
func (r *Roster) Again() <-chan event.GenericEvent { return r.again }

// Want implements [register.Scope].
func (r *Roster) Want(namespace, cluster string) clustersecret.Want {
	want := r.holders(namespace, cluster)
	if want.Registered {
		shape(r.agents.Shape, &want, namespace, cluster)
	}
	return want
}

// holders returns what the GitOpsClusters say of a cluster.
func (r *Roster) holders(namespace, cluster string) clustersecret.Want {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := clustersecret.Want{Registered: namespace == r.everyIn, Decided: r.started && len(r.pending) == 0}
	for owner, ask := range r.asks {
		if ask.namespace == namespace && ask.clusters[cluster] {
			want.Holders = append(want.Holders, owner.String())
		}
		if ask.namespace == namespace && ask.released[cluster] {
			want.Released = append(want.Released, owner.String())
		}
	}
	slices.Sort(want.Holders)
	want.Registered = want.Registered || len(want.Holders) > 0
	if p := (place{namespace, cluster}); len(want.Holders) > 0 {
		r.handed[p] = want.Holders
	} else {
		delete(r.handed, p)
	}
	return want
}

// Taken implements [register.Scope].
func (r *Roster) Taken(namespace, cluster, secret string) {
	r.mu.Lock()
	p := place{namespace, cluster}
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

// tellChanged has the GitOpsClusters of an Argo CD looked at.
func (r *Roster) tellChanged(namespace string) {
	r.mu.Lock()
	changed := r.changed
	r.mu.Unlock()
	changed(namespace)
}

// onChange has f called when a Secret of another writer appears or goes.
func (r *Roster) onChange(f func(namespace string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = f
}

func (r *Roster) takenBy(namespace, cluster string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[place{namespace, cluster}]
}

// start says which GitOpsClusters there are; until each has been heard nothing goes.
func (r *Roster) start(owners []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.pending = true, map[types.NamespacedName]bool{}
	for _, owner := range owners {
		r.pending[owner] = true
	}
}

// heard notes what a GitOpsCluster holds and what it has let go of, and returns the
// clusters for which that is news. last: it was the last one that had not been heard.
func (r *Roster) heard(owner types.NamespacedName, is ask) (news []string, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.asks[owner]
	r.asks[owner] = is
	if len(is.clusters) == 0 && len(is.released) == 0 {
		delete(r.asks, owner)
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

// letGo reports whether a GitOpsCluster has let go of a cluster whose Secret it still saw.
func (r *Roster) letGo(owner types.NamespacedName, namespace, cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.asks[owner]
	return is.namespace == namespace && is.released[cluster]
}

// handedOut reports whether package register may still be acting for a GitOpsCluster.
func (r *Roster) handedOut(owner types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, holders := range r.handed {
		if slices.Contains(holders, owner.String()) {
			return true
		}
	}
	return false
}

// others returns who else holds a cluster.
func (r *Roster) others(owner types.NamespacedName, namespace, cluster string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for other := range maps.Keys(r.asks) {
		if a := r.asks[other]; other != owner && a.namespace == namespace && a.clusters[cluster] {
			names = append(names, other.String())
		}
	}
	slices.Sort(names)
	return names
}

// kick has package register look at clusters. done ends the wait for it.
func (r *Roster) kick(done <-chan struct{}, clusters ...string) {
	for _, name := range clusters {
		o := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		select {
		case r.again <- event.GenericEvent{Object: o}:
		case <-done:
			return
		}
	}
}
