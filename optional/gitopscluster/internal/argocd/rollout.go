// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	ocm "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	ocmv1beta1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

// DefaultConcurrency is how many clusters change at a time.
const DefaultConcurrency = "25%"

// Next has OCM's library choose the clusters whose delivery changes now, of states by
// cluster. None does while one has failed, whichever it is. A cluster that has an Argo CD of
// its own or is not looked at yet takes no place, and one that is away is left out by who
// calls: it holds nothing up.
func Next(states map[string]State, maxConcurrency intstr.IntOrString) (next []string, failed []string, err error) {
	clusters := sets.New[string]()
	var existing []ocm.ClusterRolloutStatus
	for name, s := range states {
		switch s.Phase {
		case PhaseOutdated:
			// The library looks at known states in the order of the clusters' names, and ends
			// where enough are under way: one that is not among them comes after those that are.
		case PhaseProgressing:
			existing = append(existing, ocm.ClusterRolloutStatus{ClusterName: name, Status: ocm.Progressing})
		case PhaseReady:
			existing = append(existing, ocm.ClusterRolloutStatus{ClusterName: name, Status: ocm.Succeeded})
		case PhaseFailed:
			failed = append(failed, name)
		default:
			continue
		}
		clusters.Insert(name)
	}
	if len(failed) > 0 {
		return nil, sets.List(sets.New(failed...)), nil
	}
	handler, err := ocm.NewRolloutHandler(ocmv1beta1.NewPlacementDecisionClustersTracker(nil, nil, clusters),
		func(string, struct{}) (ocm.ClusterRolloutStatus, error) { return ocm.ClusterRolloutStatus{}, nil })
	if err != nil {
		return nil, nil, err
	}
	_, result, err := handler.GetRolloutCluster(clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{MaxConcurrency: maxConcurrency},
	}, existing)
	if err != nil {
		return nil, nil, fmt.Errorf("choose the clusters that are next: %w", err)
	}
	for _, c := range result.ClustersToRollout {
		if c.Status == ocm.ToApply {
			next = append(next, c.ClusterName)
		}
	}
	return next, nil, nil
}
