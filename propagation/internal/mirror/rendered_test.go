// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The status of a rendered Application belongs to the hub's Argo CD. A work of rendered mode does not count
// for a pulled Application, whatever its annotations name.
func TestRendered_isNotMirrored(t *testing.T) {
	f := newFleet(t)
	cluster := f.cluster()
	pulled, waiting := f.app("pulled", cluster.Name), f.app("waiting", cluster.Name) // pulled gets its own work, waiting has none
	rendered := f.app("rendered", cluster.Name, func(a *argocd.Application) {
		a.Labels = map[string]string{contract.RenderedLabel: "true"}
		delete(a.Annotations, argocd.SkipReconcileAnnotation) // the hub's Argo CD would not sync it
		a.Status = []byte(`{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"theirs"}}`)
	})
	for _, app := range []*argocd.Application{pulled, waiting, rendered} {
		disguised := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Name, Name: "rendered-" + app.Name,
			Labels:      map[string]string{contract.RenderedLabel: "true", contract.ApplicationSetLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: app.Namespace, contract.HubNameAnnotation: app.Name},
		}}
		spec(disguised, "1")
		f.create(disguised)
		report(t, disguised, "healthStatus", "Degraded", "syncStatus", "OutOfSync")
	}
	// Even a work that propagation could have written does not count for a rendered Application.
	report(t, f.work(rendered, cluster.Name), healthy...)
	before := stored(t, rendered)

	start(t, Options{}, nil)
	own := f.work(pulled, cluster.Name)
	report(t, own, healthy...)
	awaitStatus(t, pulled, "Healthy/Synced@53e28ff2 Succeeded")
	progressing := slices.Clone(healthy)
	progressing[1] = "Progressing"
	report(t, own, progressing...)
	awaitStatus(t, pulled, "Progressing/Synced@53e28ff2 Succeeded")
	if s := statusOf(t, waiting); s.Health.Status == "Degraded" || s.Sync.Status == "OutOfSync" {
		t.Errorf("the disguised work speaks for %s: %s", waiting.Name, s.short())
	}
	if after := stored(t, rendered); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the rendered Application was changed: %s", after.Status)
	}
}
