// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Trim drops from a work's status, in place, what [Work] does not read. It is
// meant for a cache's transform; metadata and spec are the caller's business, but
// for the labels, annotations, creation time and generation that are read.
func Trim(status *workv1.ManifestWorkStatus) {
	status.Conditions = keep(status.Conditions, func(c *metav1.Condition) bool { return c.Type == workv1.WorkApplied })
	manifests := status.ResourceStatus.Manifests[:0]
	for _, m := range status.ResourceStatus.Manifests {
		if !isApplication(&m.ResourceMeta) {
			m.StatusFeedbacks = workv1.StatusFeedbackResult{}
			m.Conditions = keep(m.Conditions, func(c *metav1.Condition) bool {
				return c.Type == workv1.ManifestApplied && c.Status == metav1.ConditionFalse
			})
			if len(m.Conditions) == 0 {
				continue
			}
		}
		manifests = append(manifests, m)
	}
	status.ResourceStatus.Manifests = slices.Clone(manifests) // without the room that a decoder left for more
}

func keep(conditions []metav1.Condition, wanted func(*metav1.Condition) bool) []metav1.Condition {
	var kept []metav1.Condition
	for i := range conditions {
		if wanted(&conditions[i]) {
			kept = append(kept, conditions[i])
		}
	}
	return kept
}
