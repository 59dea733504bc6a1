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

// Plan is what is to be done about the agents of all clusters, and what became of each spec.
// [Reconciler.Fold] makes it of the specs and of what the hub has.
type Plan struct {
	tasks    map[string]*task
	statuses map[types.NamespacedName]Status
	// open are the Argo CDs of which something could not be read.
	open map[string]bool
	// off: gitopscluster runs without agents. What an earlier run has left stays as it is.
	off bool
	// Look is when to fold again at the latest.
	Look time.Duration
}

// Off is the plan of a gitopscluster that runs without agents.
var Off = &Plan{off: true}

// task is what is to be done about the agent of one cluster.
type task struct {
	namespace string
	owner     types.NamespacedName
	// wanted is nil when the agent has to leave.
	wanted  *agent.Wanted
	abandon bool
	// untouched: a dry run, or nothing can be said yet; the agent stays as it is.
	untouched bool
	// dry: it stays so for the dry run alone.
	dry bool
	// shape of the cluster Secret, which follows once there is an agent.
	server string
	config func(cluster string) ([]byte, string, error)
	digest string
}

// sameAgent reports whether a cluster's agent need not be reconciled again.
func (t *task) sameAgent(b *task) bool {
	return b != nil && t.namespace == b.namespace && t.owner == b.owner && t.abandon == b.abandon && t.untouched == b.untouched && reflect.DeepEqual(t.wanted, b.wanted)
}

// sameSecret reports whether the shape of a cluster's Secret is the same.
func (t *task) sameSecret(b *task) bool {
	return b != nil && t.server == b.server && t.digest == b.digest && t.untouched == b.untouched && (t.wanted == nil) == (b.wanted == nil)
}

// Status returns what became of a spec; false when that is not known.
func (p *Plan) Status(owner types.NamespacedName) (Status, bool) {
	status, known := p.statuses[owner]
	return status, known || p.off
}

// Has reports whether something of an Argo CD's agent is, or is to be, or may be, on a
// cluster on behalf of a GitOpsCluster. An agent that another one has taken over is not.
func (p *Plan) Has(owner types.NamespacedName, namespace, cluster string) bool {
	t := p.tasks[cluster]
	return p.open[namespace] || t != nil && t.namespace == namespace && t.owner == owner
}

// IsTaken reports whether a cluster has, or is to have, the agent of another GitOpsCluster.
func (p *Plan) IsTaken(owner types.NamespacedName, cluster string) bool {
	t := p.tasks[cluster]
	return t != nil && t.owner != owner
}

// Left reports whether nothing of what a GitOpsCluster wanted of an Argo CD is left.
func (p *Plan) Left(owner types.NamespacedName, namespace string) bool {
	for _, t := range p.tasks {
		if t.owner == owner {
			return false
		}
	}
	return !p.open[namespace]
}

// Assigned reports whether it is known whose the agent of a cluster is.
func (p *Plan) Assigned(cluster string) bool { return p.tasks[cluster] != nil }

// ErrNotKnown says that a cluster's Secret had better be left as it is.
var ErrNotKnown = errors.New("it is not known yet whether the cluster has an agent")

// Shape returns server and config of a cluster's Secret in the namespace of an Argo CD,
// an empty server for one without agent. [ErrNotKnown]: leave it as it is.
func (p *Plan) Shape(namespace, cluster string) (server string, config []byte, err error) {
	return p.shape(namespace, cluster, false)
}

// Planned is Shape as it would be without a dry run.
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
	case t == nil || t.wanted == nil || t.untouched && (!planned || !t.dry) || t.config == nil:
		return "", nil, ErrNotKnown
	}
	config, _, err = t.config(cluster)
	return t.server, config, err
}

// changes returns the clusters whose agent has another task than in the plan before, and
// those whose Secret may have another shape.
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

// assign returns whose the agent of each cluster is: the first one's that asks for it. An
// agent stays with the GitOpsCluster that has it, as long as that one asks for it and is as
// close to the same Argo CD as the first: which one is older may change with a restore.
func assign(specs []Spec, there map[string]presence) map[string]types.NamespacedName {
	assigned, asking := map[string]types.NamespacedName{}, map[types.NamespacedName]Spec{}
	for _, a := range slices.SortedFunc(slices.Values(specs), older) {
		if a.Agent == nil {
			continue
		}
		asking[a.Owner] = a
		for _, name := range a.Clusters {
			if _, taken := assigned[name]; !taken {
				assigned[name] = a.Owner
			}
		}
	}
	for name, p := range there {
		is, asks := asking[p.owner]
		first := asking[assigned[name]]
		if p.addOn != nil && asks && is.ArgoNamespace == p.namespace && first.ArgoNamespace == p.namespace && elsewhere(is) == elsewhere(first) && slices.Contains(is.Clusters, name) {
			assigned[name] = p.owner
		}
	}
	return assigned
}
