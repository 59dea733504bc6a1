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

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// clusterKey is a cluster in the namespace of an Argo CD.
type clusterKey struct{ namespace, cluster string }

// assignment has the clusters that one GitOpsCluster holds.
type assignment struct {
	namespace string
	clusters  map[string]bool
	// released are clusters that it had and does not hold any more.
	released map[string]bool
}

// Assignments is the register.Scope of GitOpsClusters. It has the clusters that each of them held in the
// last pass, and the reports of package register.
type Assignments struct {
	// everyIn is the namespace in which every accepted cluster is registered. If it is "", no
	// cluster is registered without a GitOpsCluster.
	everyIn string
	// clusters are those that package register has to reconcile.
	clusters enqueue.Queue
	// changed is called, without the lock, when a Secret of another writer appears or goes.
	changed func()

	mu sync.Mutex
	// plan has the shapes of Secrets. It is nil before the first pass.
	plan *agents.Plan
	held map[types.NamespacedName]assignment
	// used are the holders that package register has acted for last.
	used  map[clusterKey][]string
	taken map[clusterKey]string
}

var _ register.Scope = &Assignments{}

// NewAssignments returns empty Assignments. everyIn is the namespace in which every accepted
// cluster is registered, "" for none.
func NewAssignments(everyIn string) *Assignments {
	return &Assignments{
		everyIn: everyIn, changed: func() {},
		held: map[types.NamespacedName]assignment{}, used: map[clusterKey][]string{}, taken: map[clusterKey]string{},
	}
}

// Requeue is for the register.Options.
func (r *Assignments) Requeue() source.Source { return r.clusters.Source() }

// Want implements [register.Scope].
func (r *Assignments) Want(namespace, cluster string) clustersecret.Desired {
	want, plan := r.holders(namespace, cluster)
	if want.Registered {
		shape(plan.Shape, &want, namespace, cluster)
	}
	return want
}

// holders returns the GitOpsClusters that hold or have released a cluster, and the plan of the same pass.
func (r *Assignments) holders(namespace, cluster string) (clustersecret.Desired, *agents.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := clustersecret.Desired{Registered: namespace == r.everyIn, Decided: r.plan != nil}
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
	return want, r.plan
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
	r.mu.Unlock()
	if before != secret {
		r.changed()
	}
}

func (r *Assignments) takenBy(namespace, cluster string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[clusterKey{namespace, cluster}]
}

// set replaces the held and released clusters of all GitOpsClusters. Package register then
// reconciles the clusters for which this changed, and further clusters.
func (r *Assignments) set(held map[types.NamespacedName]assignment, plan *agents.Plan, further ...string) {
	r.mu.Lock()
	news := r.news(held)
	r.held, r.plan = held, plan
	r.mu.Unlock()
	r.enqueue(append(news, further...)...)
}

// news returns the clusters with a change of their holders or former holders. The caller has the
// lock.
func (r *Assignments) news(next map[types.NamespacedName]assignment) (clusters []string) {
	for _, pair := range [][2]map[types.NamespacedName]assignment{{r.held, next}, {next, r.held}} {
		for owner, a := range pair[0] {
			b := pair[1][owner]
			for name := range a.clusters {
				if a.namespace != b.namespace || !b.clusters[name] {
					clusters = append(clusters, name)
				}
			}
			for name := range a.released {
				if a.namespace != b.namespace || !b.released[name] {
					clusters = append(clusters, name)
				}
			}
		}
	}
	return clusters
}

// decided reports whether the first pass has ended.
func (r *Assignments) decided() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan != nil
}

// hasReleased reports whether a GitOpsCluster has released a cluster, but the cache still has the
// cluster's Secret.
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

// others returns the other GitOpsClusters that hold a cluster.
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

// enqueue makes package register reconcile clusters.
func (r *Assignments) enqueue(clusters ...string) {
	for _, name := range clusters {
		r.clusters.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
}
