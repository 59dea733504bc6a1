// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchWork sends a patch that was made for current and returns the new metadata.
// When current is out of date the error is a conflict.
func (r *Reconciler) patchWork(ctx context.Context, current *workv1.ManifestWork, patch json.RawMessage) (*metav1.PartialObjectMetadata, error) {
	written := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: current.Namespace, Name: current.Name}}
	written.SetGroupVersionKind(workKind)
	err := r.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch))
	if err == nil {
		return written, nil
	}
	switch {
	case apierrors.IsNotFound(err): // deleted since
		err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
	case apierrors.IsInvalid(err):
		// A step may have failed only because the map or key it is about has gone.
		now := &workv1.ManifestWork{}
		if live := r.live.Get(ctx, client.ObjectKeyFromObject(current), now); live == nil && now.ResourceVersion != current.ResourceVersion {
			err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
		}
	}
	return nil, fmt.Errorf("patch ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
}
