// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// Plan has the task of each cluster and the status of each spec. [Reconciler.MakePlan] returns it.
type Plan struct {
	tasks    map[string]*task
	statuses map[types.NamespacedName]Status
	// open are the namespaces of Argo CDs that could not be read. Their clusters may have tasks.
	// failures has the error of those that could not be read for a while.
	open     map[string]bool
	failures map[string]error
	// off is true if gitopscluster runs without agents. Objects of an earlier run stay.
	off bool
	// After is the longest time until the next plan.
	After time.Duration
}

// Off is the plan of a gitopscluster that runs without agents.
var Off = &Plan{off: true}

// task is the desired state of the agent of one cluster.
type task struct {
	namespace string
	owner     types.NamespacedName
	// wanted is nil if the agent has to be removed.
	desired *agent.Desired
	abandon bool
	// untouched is true if the agent stays unchanged, because of a dry run or because something is not
	// known yet.
	untouched bool
	// dry is true if the dry run is the only reason for untouched.
	dry bool
	// server, config and digest shape the cluster Secret once the agent exists.
	server string
	config func(cluster string) ([]byte, string, error)
	digest string
}

// sameAgent reports whether a cluster's agent need not be reconciled again.
func (t *task) sameAgent(b *task) bool {
	return b != nil && t.namespace == b.namespace && t.owner == b.owner && t.abandon == b.abandon && t.untouched == b.untouched && reflect.DeepEqual(t.desired, b.desired)
}

// sameSecret reports whether the shape of a cluster's Secret is the same.
func (t *task) sameSecret(b *task) bool {
	return b != nil && t.server == b.server && t.digest == b.digest && t.untouched == b.untouched && (t.desired == nil) == (b.desired == nil)
}

// Status returns the status of a spec, and false if it is not known.
func (p *Plan) Status(owner types.NamespacedName) (Status, bool) {
	status, known := p.statuses[owner]
	return status, known || p.off
}

// Failure returns why an Argo CD could not be read for a while, or nil. Its agents stay as they are.
func (p *Plan) Failure(namespace string) error { return p.failures[namespace] }

// Has reports whether a cluster has, will have, or may have the agent of an Argo CD for a
// GitOpsCluster. An agent that another GitOpsCluster has taken over does not count.
func (p *Plan) Has(owner types.NamespacedName, namespace, cluster string) bool {
	t := p.tasks[cluster]
	return p.open[namespace] || t != nil && t.namespace == namespace && t.owner == owner
}

// IsTaken reports whether a cluster has, or will have, the agent of another GitOpsCluster.
func (p *Plan) IsTaken(owner types.NamespacedName, cluster string) bool {
	t := p.tasks[cluster]
	return t != nil && t.owner != owner
}

// Left reports whether no cluster has an agent of an Argo CD for a GitOpsCluster any more.
func (p *Plan) Left(owner types.NamespacedName, namespace string) bool {
	for _, t := range p.tasks {
		if t.owner == owner {
			return false
		}
	}
	return !p.open[namespace]
}

// Assigned reports whether the owner of a cluster's agent is known.
func (p *Plan) Assigned(cluster string) bool { return p.tasks[cluster] != nil }

// Keep has the Secret of a cluster stay unchanged, because it is not known that the agent is gone.
func (p *Plan) Keep(owner types.NamespacedName, namespace, cluster string) {
	if p.off || p.Has(owner, namespace, cluster) {
		return // it stays unchanged anyway, or the plan has the agent
	}
	p.tasks[cluster] = &task{owner: owner, namespace: namespace, untouched: true}
}

// ErrNotKnown means that a cluster's Secret has to stay unchanged.
var ErrNotKnown = errors.New("it is not known yet whether the cluster has an agent")

// Shape returns server and config of a cluster's Secret in the namespace of an Argo CD. The server is
// empty for a cluster without an agent. The error is [ErrNotKnown] if the Secret has to stay
// unchanged.
func (p *Plan) Shape(namespace, cluster string) (server string, config []byte, err error) {
	return p.shape(namespace, cluster, false)
}

// Planned returns the result that Shape would have without a dry run.
func (p *Plan) Planned(namespace, cluster string) (server string, config []byte, err error) {
	return p.shape(namespace, cluster, true)
}

func (p *Plan) shape(namespace, cluster string, planned bool) (server string, config []byte, err error) {
	if p == nil || p.off {
		return "", nil, ErrNotKnown
	}
	t := p.tasks[cluster]
	switch {
	case t == nil && !p.open[namespace] || t != nil && t.namespace != namespace:
		return "", nil, nil
	case t == nil || t.desired == nil || t.untouched && (!planned || !t.dry) || t.config == nil:
		return "", nil, ErrNotKnown
	}
	config, _, err = t.config(cluster)
	return t.server, config, err
}

// changes returns the clusters with a task that differs from the plan before, and the clusters with a
// Secret that may have to change.
func (p *Plan) changes(before *Plan) (agents, secrets []string) {
	for name, t := range p.tasks {
		if !t.sameAgent(before.tasks[name]) {
			agents = append(agents, name)
		}
		if !t.sameSecret(before.tasks[name]) {
			secrets = append(secrets, name)
		}
	}
	for name := range before.tasks {
		if p.tasks[name] == nil {
			secrets = append(secrets, name)
		}
	}
	return agents, secrets
}

// assign returns the owner of each cluster's agent, which is the first GitOpsCluster that requests it
// (see older). A GitOpsCluster that selects the cluster comes before a GitOpsCluster that only holds it.
// An existing agent stays with its GitOpsCluster on two conditions. That GitOpsCluster still requests the
// agent, and has the same relation to Argo CD's namespace as the first. Ages change with a restore,
// owners do not.
func assign(specs []Spec, existing map[string]presence) map[string]types.NamespacedName {
	specs = slices.DeleteFunc(slices.SortedFunc(slices.Values(specs), older), func(a Spec) bool { return a.Agent == nil })
	assigned, asking := map[string]types.NamespacedName{}, map[types.NamespacedName]Spec{}
	first := func(name string, a Spec) {
		if _, taken := assigned[name]; !taken {
			assigned[name] = a.Owner
		}
	}
	for _, a := range specs {
		asking[a.Owner] = a
		for _, name := range a.Clusters {
			first(name, a)
		}
	}
	for _, a := range specs {
		for name := range a.Held {
			if a.keeps(name, existing[name]) {
				first(name, a)
			}
		}
	}
	for name, p := range existing {
		is, asks := asking[p.owner]
		if p.addOn != nil && asks && is.has(name) && is.samePriority(asking[assigned[name]], p.namespace) {
			assigned[name] = p.owner
		}
	}
	return assigned
}

// keeps reports whether a GitOpsCluster requests the agent of a cluster that it holds without selecting
// it. It requests only an agent that it already has there.
func (s Spec) keeps(cluster string, p presence) bool {
	if p.addOn != nil {
		return p.owner == s.Owner
	}
	return s.Held[cluster]
}

// samePriority reports whether two GitOpsClusters are of the Argo CD of a namespace, and in the same
// relation to that namespace.
func (s Spec) samePriority(other Spec, namespace string) bool {
	return s.ArgoNamespace == namespace && other.ArgoNamespace == namespace && elsewhere(s) == elsewhere(other)
}
