// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=multiclusterapplicationsetreports,verbs=get

// reportTimeout is how long a page waits for a report.
const reportTimeout = 3 * time.Second

// Reports reads reports, one at a time.
type Reports struct{ Live client.Reader }

// Resources returns the resources of an ApplicationSet from its report, or none without a report.
func (r Reports) Resources(ctx context.Context, set types.NamespacedName) ([]v1alpha1.ResourceRef, error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var report v1alpha1.MulticlusterApplicationSetReport
	switch err := r.Live.Get(ctx, set, &report); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the report of ApplicationSet %s: %w", set, err)
	}
	return report.Statuses.Resources, nil
}
