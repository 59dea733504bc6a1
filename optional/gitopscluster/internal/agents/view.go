// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

// view has the objects that were read about the agents of one Argo CD.
type view struct {
	namespace string
	// specs are the specs for this Argo CD, the oldest first. assigned has, for all Argo CDs, the
	// owner of each cluster's agent.
	specs    []Spec
	assigned map[string]types.NamespacedName
	// others is true if this Argo CD may have specs that specs does not have.
	others bool
	// existing has the clusters that have an object of an agent of this Argo CD. grace is how much longer an
	// agent stays if its GitOpsCluster does not exist.
	existing map[string]presence
	grace    map[string]time.Duration
	found    map[types.NamespacedName]principal.Found
	problems map[types.NamespacedName][]principal.Problem
	// applications has the problems of the hub's Applications.
	applications *applications.Report
	// keepsDefault is true if the default AppProject has to be kept from agents.
	keepsDefault bool
}

// foundNames replaces the names that a GitOpsCluster has the principal's certificate made for.
func (v *view) foundNames(owner types.NamespacedName, names []string) {
	found := v.found[owner]
	found.Names = names
	v.found[owner] = found
}

// checkAddresses reports an address that the principal's certificate does not name: only
// GitOpsClusters in the namespace of the Argo CD add names to it.
func (v *view) checkAddresses() {
	var names []string
	for _, found := range v.found {
		names = append(names, found.Names...)
	}
	for owner, found := range v.found {
		if owner.Namespace != v.namespace && found.Address != "" && !slices.Contains(names, found.Address) {
			v.problems[owner] = append(v.problems[owner], principal.Problem{Reason: principal.ReasonAddress, Message: fmt.Sprintf(
				"the principal's certificate does not name %s: leave the address empty, or have a GitOpsCluster in namespace %s set it", found.Address, v.namespace)})
		}
	}
}

// leaving reports whether the agent of a cluster has to be removed, because no GitOpsCluster requests it
// any more. A GitOpsCluster in dry run keeps its agents. If the GitOpsCluster does not exist, the agent
// stays for the grace period, because a restored hub may get the GitOpsCluster late. It also stays while
// another GitOpsCluster holds the cluster back.
func (v *view) leaving(cluster string) bool {
	_, desired := v.assigned[cluster]
	grace, orphan := v.grace[cluster]
	heldBack := func(s Spec) bool { _, held := s.Held[cluster]; return held }
	if orphan && (grace > 0 || slices.ContainsFunc(v.specs, heldBack)) {
		return false
	}
	return !desired && !slices.ContainsFunc(v.specs, func(s Spec) bool { return s.Owner == v.existing[cluster].owner && s.DryRun })
}

// renewal returns when the first client certificate has to be renewed, or zero. An unreachable
// cluster renews its certificate when it is reachable again. A cluster that is being removed does
// not renew.
func (v *view) renewal(reports []pki.Report) (first time.Time) {
	for _, r := range reports {
		if _, desired := v.assigned[r.Cluster]; !desired || !r.Reachable || len(r.Issued) == 0 {
			continue
		}
		newest := r.Issued[len(r.Issued)-1]
		if d := pki.RenewalDeadline(newest.At, newest.Expires); first.IsZero() || d.Before(first) {
			first = d
		}
	}
	return first
}

// deciding returns the specs that decide about certificates and their generation, which the agents
// of an Argo CD share. These specs have agents. A dry run counts only if all of them are dry runs.
func (v *view) deciding() []Spec {
	with := slices.DeleteFunc(slices.Clone(v.specs), func(a Spec) bool { return a.Agent == nil })
	if live := slices.DeleteFunc(slices.Clone(with), func(a Spec) bool { return a.DryRun }); len(live) > 0 {
		return live
	}
	return with
}
