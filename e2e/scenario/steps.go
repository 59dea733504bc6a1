// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import "slices"

// Steps returns the steps in their order.
func (s *Scenario) Steps() []Step {
	steps := []Step{
		{"Deliver: apply the examples; the guestbook starts on every managed cluster", s.Deliver},
		{"Report: show the MulticlusterApplicationSetReport of the ApplicationSet", s.Show},
		{"Change: push a commit; its revision appears in the report", s.Change},
		{"Break: push a commit that cannot sync; the error appears on the hub", s.Break},
		{"Fix: push a commit that can sync; every Application is Synced and Healthy again", s.Fix},
		{"Move: retarget one Application to the other cluster", s.Move},
		{"Withdraw: delete the ApplicationSet; hub and managed clusters hold nothing of it", s.Withdraw},
	}
	if s.fleet.GitOpsClusters() {
		return slices.Concat([]Step{{"Register: a GitOpsCluster registers the clusters of its Placement with Argo CD", s.Register}}, steps,
			[]Step{{"Unregister: delete the GitOpsClusters; they are gone once their cluster Secrets are", s.Unregister}})
	}
	return steps
}
