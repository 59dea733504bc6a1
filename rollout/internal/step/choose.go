// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	ocm "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	ocmv1beta1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// choice is what OCM's library says is next.
type choice struct {
	// start are the clusters that may have the candidate now, sorted.
	start []string
	// breach: more have failed than the strategy allows.
	breach bool
}

// choose has OCM's library choose the clusters that are next. It is given no times: how long
// a success must last and when a cluster is late is in the states already.
func choose(spec *rollout.Spec, groups []Group, states map[string]ocm.RolloutStatus) (choice, error) {
	strategy := withoutTimes(&spec.Strategy)
	scheduled := ocmv1beta1.ClusterGroupsMap{}
	var existing []ocm.ClusterRolloutStatus
	for i, g := range groups {
		key := ocmv1beta1.GroupKey{GroupName: g.Name, GroupIndex: int32(min(i, math.MaxInt32))}
		scheduled[key] = sets.New(g.Clusters...)
		for _, name := range g.Clusters {
			state, there := states[name]
			if !there {
				continue
			}
			if state == ocm.TimeOut && strategy.Type == clusterv1alpha1.ProgressivePerGroup {
				// The library takes failed clusters off those that a group waits for, and one that
				// timed out is not among them: the next group would begin too early.
				state = ocm.Failed
			}
			existing = append(existing, ocm.ClusterRolloutStatus{ClusterName: name, GroupKey: key, Status: state})
		}
	}
	handler, err := ocm.NewRolloutHandler(ocmv1beta1.NewPlacementDecisionClustersTrackerWithGroups(nil, nil, scheduled),
		func(string, struct{}) (ocm.ClusterRolloutStatus, error) { return ocm.ClusterRolloutStatus{}, nil })
	if err != nil {
		return choice{}, err
	}
	_, result, err := handler.GetRolloutCluster(*strategy, existing)
	if err != nil {
		return choice{}, err
	}
	c := choice{breach: result.MaxFailureBreach}
	for _, r := range result.ClustersToRollout {
		if r.Status == ocm.ToApply {
			c.start = append(c.start, r.ClusterName)
		}
	}
	slices.Sort(c.start)
	return c, nil
}

func withoutTimes(s *clusterv1alpha1.RolloutStrategy) *clusterv1alpha1.RolloutStrategy {
	s = s.DeepCopy()
	s.Type = cmp.Or(s.Type, clusterv1alpha1.All)
	strip := func(c *clusterv1alpha1.RolloutConfig) { c.MinSuccessTime.Duration, c.ProgressDeadline = 0, "" }
	if s.All != nil {
		strip(&s.All.RolloutConfig)
	}
	if s.Progressive != nil {
		strip(&s.Progressive.RolloutConfig)
	}
	if s.ProgressivePerGroup != nil {
		strip(&s.ProgressivePerGroup.RolloutConfig)
	}
	return s
}
