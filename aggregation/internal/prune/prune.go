// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prune removes what an ApplicationSet leaves behind, its report. It acts on a live
// answer that the ApplicationSet is not
// there, and on nothing less: an error is not an answer.
package prune

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=multiclusterapplicationsetreports,verbs=get;list;watch;delete

// Pruner removes reports. The zero value is not usable.
type Pruner struct {
	// Live reads from the API server, never from a cache.
	Live client.Reader
	// Writer deletes reports.
	Writer client.Writer
}

// Prune removes the report of an ApplicationSet if the API server confirms that the ApplicationSet
// does not exist. report is the metadata of the observed report, or nil. It returns whether the
// ApplicationSet is gone and whether a report was deleted. resourcesync removes its file.
func (p *Pruner) Prune(ctx context.Context, key types.NamespacedName, report *metav1.PartialObjectMetadata) (gone, deleted bool, err error) {
	err = p.Live.Get(ctx, key, argocd.ApplicationSetMetadata())
	if err == nil {
		return false, false, nil
	}
	if !isConfirmedNotFound(err) {
		return false, false, fmt.Errorf("get ApplicationSet: %w", err)
	}
	if report != nil {
		// Only the observed report is deleted. A later one belongs to another client.
		err := p.Writer.Delete(ctx, report, client.Preconditions{UID: &report.UID, ResourceVersion: &report.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return true, false, fmt.Errorf("delete report: %w", err)
		}
		deleted = err == nil
	}
	return true, deleted, nil
}

// isConfirmedNotFound reports whether the API server itself reports that the object does not exist.
// A server that does not serve ApplicationSets also returns 404.
func isConfirmedNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
