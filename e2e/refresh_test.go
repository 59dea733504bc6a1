// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Both generations of agents apply a repeated refresh, which differs from the last one only in its identity.
// Each refresh is one write of the ManifestWork, and the cluster has its identity afterwards.
func TestRefresh_isOneWriteOfTheManifestWork(t *testing.T) {
	alongside(t)
	onEachCluster(t, refreshed)
}

func refreshed(t *testing.T, cluster string) {
	a := create(t, "refreshed-"+cluster, cluster, true)
	awaitWell(t, "hub", a.Name)
	for _, word := range []string{"normal", "normal", "hard"} {
		before := workOf(t, a.Name)
		patch(t, a, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, argocd.RefreshAnnotation, word))
		if err := env.Wait(t.Context(), "the refresh to leave the hub", func(ctx context.Context) (bool, string) {
			stored := &argocd.Application{}
			err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(a), stored)
			return err == nil && stored.Annotations[argocd.RefreshAnnotation] == "", fmt.Sprint(stored.Annotations, err)
		}); err != nil {
			t.Fatal(err)
		}
		await(t, "the ManifestWork to carry it", func() (bool, string) {
			now := workOf(t, a.Name).Generation
			return now > before.Generation, fmt.Sprintf("generation %d", now)
		})
		after := workOf(t, a.Name)
		if after.Generation != before.Generation+1 {
			t.Errorf("for one refresh the ManifestWork went from generation %d to %d", before.Generation, after.Generation)
		}
		existing, id := managed(t, cluster, a.Name).Annotations, after.Annotations[contract.RequestAnnotation]
		if id == before.Annotations[contract.RequestAnnotation] || existing[contract.RequestAnnotation] != id || existing[argocd.RefreshAnnotation] != "" {
			t.Errorf("the ManifestWork carried %q and carries %q, the annotations on %s are %v", before.Annotations[contract.RequestAnnotation], id, cluster, existing)
		}
	}
}
