// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// store has the specs of GitOpsClusters and the state of their clusters. All of it is read again
// after a start.
type store struct {
	// namespaces are the namespaces of the hub's Argo CDs.
	namespaces []string

	mu sync.Mutex
	// started: pending are the GitOpsClusters that have not been reconciled since.
	started  bool
	pending  map[types.NamespacedName]bool
	specs    map[types.NamespacedName]Spec
	statuses map[types.NamespacedName]Status
	tasks    map[string]*task
	states   map[string]agent.State
	leaving  map[string]string
	// kept are the Argo CDs whose certificates may be ours. complete are those that were reconciled
	// after every GitOpsCluster.
	kept, complete map[string]bool
}

func newStore(namespaces []string) *store {
	s := &store{
		namespaces: namespaces, pending: map[types.NamespacedName]bool{}, specs: map[types.NamespacedName]Spec{}, statuses: map[types.NamespacedName]Status{},
		tasks: map[string]*task{}, states: map[string]agent.State{}, leaving: map[string]string{}, kept: map[string]bool{}, complete: map[string]bool{},
	}
	for _, namespace := range namespaces {
		s.kept[namespace] = true
	}
	return s
}

// settled reports whether every GitOpsCluster has been reconciled. The lock is held.
func (s *store) settled() bool { return s.started && len(s.pending) == 0 }

// isComplete reports whether everything about the agents of an Argo CD is known. An Argo CD that is
// not ours has none. The caller holds the lock.
func (s *store) isComplete(namespace string) bool {
	return s.complete[namespace] || !slices.Contains(s.namespaces, namespace)
}

// start records the existing GitOpsClusters, and returns whether all were reconciled.
func (s *store) start(owners []types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	for _, owner := range owners {
		if _, known := s.specs[owner]; !known {
			s.pending[owner] = true
		}
	}
	return s.settled()
}

// set stores a spec and returns the one before. last is true if it was the last pending one.
func (s *store) set(spec Spec) (before Spec, known, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known = s.specs[spec.Owner]
	s.specs[spec.Owner] = spec
	return before, known, s.done(spec.Owner)
}

// remove forgets a GitOpsCluster and returns its spec. last as in set.
func (s *store) remove(owner types.NamespacedName) (before Spec, known, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known = s.specs[owner]
	delete(s.specs, owner)
	delete(s.statuses, owner)
	return before, known, s.done(owner)
}

// done takes an owner off the pending ones. The lock is held.
func (s *store) done(owner types.NamespacedName) (last bool) {
	last = s.pending[owner] && len(s.pending) == 1
	delete(s.pending, owner)
	return last
}

func (s *store) status(owner types.NamespacedName) (Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, known := s.statuses[owner]
	return status, known
}

func (s *store) has(owner types.NamespacedName, namespace, cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[cluster]
	return t != nil && t.namespace == namespace && t.owner == owner || !s.isComplete(namespace)
}

func (s *store) left(owner types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, known := s.specs[owner]
	if !known || !s.isComplete(spec.ArgoNamespace) {
		return false
	}
	for _, t := range s.tasks {
		if t.owner == owner {
			return false
		}
	}
	return true
}

// task returns what is to be done about a cluster, nil for nothing; decided: that is final.
func (s *store) task(cluster, namespace string) (t *task, decided bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks[cluster], s.settled() && s.isComplete(namespace)
}

// argoOf returns the namespace of the Argo CD that an object belongs to, which may not be one of
// ours. A work that outlived its add-on does not name it.
func (s *store) argoOf(o client.Object) string {
	if namespace, there := o.GetAnnotations()[agent.ArgoNamespaceAnnotation]; there {
		return namespace
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tasks[o.GetNamespace()]; t != nil {
		return t.namespace
	}
	if spec, known := s.specs[ownerOf(o)]; known {
		return spec.ArgoNamespace
	}
	return s.namespaces[0]
}

// snapshot returns the known state of an Argo CD, without what has to be read.
func (s *store) snapshot(namespace string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &view{namespace: namespace, settled: s.settled(), states: maps.Clone(s.states), tasks: maps.Clone(s.tasks), assigned: map[string]types.NamespacedName{}}
	for _, spec := range slices.SortedFunc(maps.Values(s.specs), older) {
		if spec.ArgoNamespace == namespace {
			v.specs = append(v.specs, spec)
		}
		for _, name := range spec.Clusters {
			if _, taken := v.assigned[name]; !taken && spec.Agent != nil {
				v.assigned[name] = spec.Owner
			}
		}
	}
	return v
}

// clusters returns tasks, states, and what leaving clusters wait for.
func (s *store) clusters() (tasks map[string]*task, states map[string]agent.State, leaving map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.tasks), maps.Clone(s.states), maps.Clone(s.leaving)
}

// setState notes the state of a cluster and returns whether it has changed.
func (s *store) setState(cluster string, state agent.State) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.states[cluster]
	if s.tasks[cluster] == nil || known && reflect.DeepEqual(before, state) {
		return false
	}
	s.states[cluster] = state
	delete(s.leaving, cluster)
	return true
}

// setLeaving notes what a leaving cluster waits for and returns whether that has changed.
func (s *store) setLeaving(cluster string, t *task, waitingFor string, done bool) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = done || s.leaving[cluster] != waitingFor
	s.leaving[cluster] = waitingFor
	delete(s.states, cluster)
	if done && s.tasks[cluster] == t {
		delete(s.tasks, cluster)
		delete(s.leaving, cluster)
	}
	return changed
}

// setStatuses stores the statuses of an Argo CD's GitOpsClusters and returns whether one
// has changed.
func (s *store) setStatuses(v *view, statuses map[types.NamespacedName]Status) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = v.settled && !s.complete[v.namespace]
	s.complete[v.namespace] = s.complete[v.namespace] || v.settled
	for owner, status := range statuses {
		before, known := s.statuses[owner]
		changed = changed || !known || !reflect.DeepEqual(before, status)
		s.statuses[owner] = status
	}
	return changed
}

// setTasks replaces the tasks of an Argo CD. It returns the clusters with a changed task, and those
// whose Secret may change.
func (s *store) setTasks(v *view, next map[string]*task) (changed, reshaped []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tasks {
		if t.namespace == v.namespace && next[name] == nil && v.assigned[name] == (types.NamespacedName{}) {
			delete(s.tasks, name)
			delete(s.states, name)
			delete(s.leaving, name)
			reshaped = append(reshaped, name)
		}
	}
	for name, t := range next {
		before := s.tasks[name]
		s.tasks[name] = t
		if before == nil || !sameTask(before, t) {
			changed = append(changed, name)
		}
		if before == nil || before.server != t.server || before.digest != t.digest || before.untouched != t.untouched || (before.wanted == nil) != (t.wanted == nil) {
			reshaped = append(reshaped, name)
		}
	}
	return changed, reshaped
}

// mayHaveCertificates reports whether certificates in the namespace of an Argo CD may be
// ours, setCertificates notes whether they are.
func (s *store) mayHaveCertificates(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[namespace]
}

func (s *store) setCertificates(namespace string, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[namespace] = kept
}
