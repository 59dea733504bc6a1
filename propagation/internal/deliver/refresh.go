// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// mirrored reports whether the Application's status has the sync status and revision that
// its work reports.
func mirrored(w policy.Inputs, current *manifestcache.Cached) bool {
	observed := status.Work(&current.ManifestWork, status.ClusterOf(current.Namespace, w.Cluster))
	var is struct {
		Sync struct{ Status, Revision string } `json:"sync"`
	}
	if !observed.Reported || json.Unmarshal(w.Application.Status, &is) != nil {
		return !observed.Reported
	}
	return is.Sync.Status == observed.Sync && (is.Sync.Revision == observed.Revision || observed.Revision == "")
}

// endRefresh takes a refresh that came alone, and has been, off the Application. Where
// the status changes with it the mirror does.
func (op *operations) endRefresh(ctx context.Context, app *argocd.Application, id string) error {
	key := client.ObjectKeyFromObject(app)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": app.ResourceVersion, "annotations": withoutRefresh()}})
	if err != nil {
		return fmt.Errorf("encode Application patch: %w", err)
	}
	if err := op.refreshes.End(key, id, app.ResourceVersion); err != nil {
		return err
	}
	err = op.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	op.refreshes.Ended(key, id, app.ResourceVersion, err)
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("end %s of Application %s: %w", id, key, err))
	}
	ctrl.LoggerFrom(ctx).V(1).Info("refresh ended", "request", id)
	return nil
}

// withoutRefresh is what a merge patch says of the annotations of a refresh that has been.
func withoutRefresh() map[string]any {
	annotations := map[string]any{}
	for _, name := range request.RefreshAnnotations() {
		annotations[name] = nil
	}
	return annotations
}
