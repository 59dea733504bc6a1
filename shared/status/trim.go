// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Trim drops, in place, the fields of a work's status that [Work] does not read, and limits the
// rest. So a managed cluster cannot decide how much memory a cache needs. A trimmed status has 20
// KiB at most. It is for a cache's transform. The caller trims metadata and spec, but keeps the
// labels, annotations, UID and generation that are read.
func Trim(status *workv1.ManifestWorkStatus) contract.Rejected {
	var rejected contract.Rejected
	status.Conditions = bounded(status.Conditions, &rejected, workv1.WorkApplied)
	manifests := make([]workv1.ManifestCondition, 0, 1)
	application, failed := false, 0
	looked := contract.Clip(status.ResourceStatus.Manifests, contract.MaxManifests, &rejected)
	for i := range looked {
		m := &looked[i]
		if !application && isApplication(&m.ResourceMeta) {
			application = true
			m.Conditions = bounded(m.Conditions, &rejected, workv1.ManifestApplied, workv1.ManifestAvailable, feedbackSynced)
			m.StatusFeedbacks.Values = contract.BoundFeedback(m.StatusFeedbacks.Values, &rejected)
		} else {
			if failed == contract.MaxFailures || applyFailure(m) == nil {
				continue
			}
			m.Conditions = bounded(m.Conditions, &rejected, workv1.ManifestApplied)
			m.StatusFeedbacks = workv1.StatusFeedbackResult{}
		}
		if applyFailure(m) != nil {
			failed++
		}
		r := &m.ResourceMeta
		for _, s := range []*string{&r.Group, &r.Version, &r.Kind, &r.Resource, &r.Namespace, &r.Name} {
			*s = contract.Name(*s, &rejected)
		}
		manifests = append(manifests, *m)
	}
	status.ResourceStatus.Manifests = slices.Clip(manifests)
	return rejected
}

// TrimCluster drops, in place, the fields of a ManagedCluster's status that [ClusterOf] does not
// read. It limits the rest, because the cluster writes it.
func TrimCluster(status *clusterv1.ManagedClusterStatus) contract.Rejected {
	var rejected contract.Rejected
	conditions := bounded(status.Conditions, &rejected, clusterv1.ManagedClusterConditionAvailable)
	*status = clusterv1.ManagedClusterStatus{Conditions: conditions}
	return rejected
}
