// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/index"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// source is the index as the page reads it.
type source struct{ *index.Index }

// Rows returns the rows of an ApplicationSet and what it deploys.
func (s source) Rows(key types.NamespacedName) ([]*merge.Row, []v1alpha1.ResourceRef) {
	v := s.View(key)
	return v.Rows, v.Resources.Refs()
}
