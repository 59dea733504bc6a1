// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// An agent may change the works in its own namespace. Naming another tenant's
// Application there neither holds up that Application's deletion, nor has any work
// deleted; what was changed is repaired.
func TestHostileAgentReachesNobody(t *testing.T) {
	running := start(t)
	victim, evil := newPlace(t), newPlace(t)
	app := victim.deploy("payments", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	delivered(t, app, victim.cluster)
	theirs := evil.deploy("theirs")
	work := delivered(t, theirs, evil.cluster)
	spoof := func(w *workv1.ManifestWork) {
		w.Finalizers = []string{workv1.ManifestWorkFinalizer}
		w.Annotations[contract.HubNamespaceAnnotation], w.Annotations[contract.HubNameAnnotation] = app.Namespace, app.Name
	}
	absent := func(w *workv1.ManifestWork) { w.Annotations[contract.HubNameAnnotation] = "nobody" }
	for i := range 10 {
		edit(t, work, []func(*workv1.ManifestWork){spoof, absent}[i%2])
		testkit.Eventually(t, "the repair", func() error {
			own := works(t, theirs)
			if len(own) != 1 {
				return errors.New("it still names the other one")
			}
			if own[0].UID != work.UID || own[0].DeletionTimestamp != nil {
				t.Fatal("the work was deleted")
			}
			return nil
		})
	}
	for _, request := range running.requests.in(evil.cluster, victim.cluster) {
		if strings.HasPrefix(request, "DELETE") {
			t.Errorf("propagation sent %s", request)
		}
	}

	// one whose own Application is gone is repaired by none, and holds up none
	running.stop()
	remove(t, theirs)
	edit(t, work, spoof)
	start(t)
	remove(t, app)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
	applying(t, evil.cluster)
	testkit.Eventually(t, "the leftover to be withdrawn", func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		if work.DeletionTimestamp == nil {
			return errors.New("it is alive")
		}
		return nil
	})
	pruned(t, work)
}

// Nor does it make propagation release an Application of the hub's own Argo CD.
func TestHostileAgentReleasesNobody(t *testing.T) {
	first := start(t)
	evil := newPlace(t)
	hubs := evil.deploy("hubs-own", func(a *argocd.Application) {
		a.Labels, a.Annotations, a.Finalizers = nil, nil, []string{argocd.ResourcesFinalizer}
	})
	theirs := evil.deploy("theirs")
	work := delivered(t, theirs, evil.cluster)
	first.stop()
	remove(t, theirs)
	remove(t, hubs)
	edit(t, work, func(w *workv1.ManifestWork) { w.Annotations[contract.HubNameAnnotation] = hubs.Name })
	start(t)
	delivered(t, evil.deploy("other"), evil.cluster) // by then it was looked at
	if err := gone(hubs); err == nil {
		t.Error("an Application that is not pulled was released")
	}
	edit(t, hubs, func(a *argocd.Application) { a.Finalizers = nil })
}
