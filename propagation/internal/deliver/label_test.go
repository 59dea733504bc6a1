// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A work that has lost its label gets it back; no second one is made beside it.
func TestLabelIsPutBack(t *testing.T) {
	p := newPlace(t)
	first := start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	app, kept := p.deploy("unlabelled"), p.deploy("adopted")
	work, old := delivered(t, app, p.cluster), delivered(t, kept, p.cluster)
	kept = remade(t, p, kept) // its work has another UID's name
	adopted(t, kept, old)
	unlabel := func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) }
	labelled := func(app *argocd.Application, work *workv1.ManifestWork) {
		t.Helper()
		testkit.Eventually(t, "the label of "+work.Name, func() error {
			own := works(t, app)
			if len(own) != 1 || own[0].UID != work.UID || own[0].DeletionTimestamp != nil {
				t.Fatalf("there are %d works, or another one", len(own))
			}
			if own[0].Labels[contract.PullLabel] != "true" {
				return errors.New("it is not back")
			}
			return nil
		})
	}
	edit(t, work, unlabel)
	labelled(app, work)
	edit(t, old, unlabel)
	labelled(kept, old)
	first.stop()
	edit(t, work, unlabel)
	start(t)
	labelled(app, work)
}

// The deletion of an Application finds its work without the label, too.
func TestUnlabelledWorkIsWithdrawnAndWaitedFor(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	app := p.deploy("unlabelled", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	first.stop()
	edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	remove(t, app)
	start(t)
	says(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
	testkit.Eventually(t, "the withdrawal", func() error {
		if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp == nil {
			return errors.New("it is still alive")
		}
		return nil
	})
	pruned(t, work)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

// Also when it loses the label in the moment of the deletion.
func TestUnlabelledWhileItIsDeleted(t *testing.T) {
	p := newPlace(t)
	start(t)
	app := p.deploy("unlabelled", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	remove(t, app)
	says(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
	edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/wake"] = "up" })
	says(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
	if err := gone(app); err == nil {
		t.Fatal("it was released while its work is there")
	}
	pruned(t, work)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}
