// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/principal"
)

// view is what is known of an Argo CD at the beginning of a pass.
type view struct {
	namespace string
	// specs are those for this Argo CD, the oldest first; assigned says, for all Argo CDs,
	// whose a cluster's agent is.
	specs    []Spec
	assigned map[string]types.NamespacedName
	settled  bool
	// others: there may be asks for this Argo CD that are not among these.
	others   bool
	states   map[string]agent.State
	tasks    map[string]*task
	there    map[string]presence
	found    map[types.NamespacedName]principal.Found
	problems map[types.NamespacedName][]principal.Problem
}

// renewal returns until when the first client certificate has to be renewed, zero for none.
// A cluster that is away renews its own when it is back, and one that is leaving does not.
func (v *view) renewal(reports []pki.Report) (first time.Time) {
	for _, r := range reports {
		if _, wanted := v.assigned[r.Cluster]; !wanted || !r.Reachable || len(r.Issued) == 0 {
			continue
		}
		newest := r.Issued[len(r.Issued)-1]
		if d := pki.RenewalDeadline(newest.At, newest.Expires); first.IsZero() || d.Before(first) {
			first = d
		}
	}
	return first
}

// deciding returns the asks that say what the agents of an Argo CD share, its certificates
// and their generation: those for agents, and of these no dry run unless all are.
func (v *view) deciding() []Spec {
	with := slices.DeleteFunc(slices.Clone(v.specs), func(a Spec) bool { return a.Agent == nil })
	if live := slices.DeleteFunc(slices.Clone(with), func(a Spec) bool { return a.DryRun }); len(live) > 0 {
		return live
	}
	return with
}
