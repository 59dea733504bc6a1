// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// An end that was allowed stays allowed over a restart: it takes as long as its agent takes.
func TestBudget_restartKeepsAllowedEnds(t *testing.T) {
	on := guarded(newHubNamespace(t))
	first := start(t, on)
	g := generate(t)
	for _, app := range g.apps[:3] {
		edit(t, delivered(t, app, g.cluster), func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
	}
	g.remove(g.apps[:3]...)
	for _, app := range g.apps[:3] {
		testkit.Eventually(t, "the work of "+app.Name+" to say how it ends", func() error {
			return carries(t, app, "end-without-cascade")
		})
	}
	first.stop()
	start(t, on)
	another(t)
	applying(t, g.cluster)
	for _, app := range g.apps[:3] {
		withdrawn(t, app)
	}
	g.awaitLeft(many - 3)
}

// What a tenant removes does not hold what an administrator revokes.
func TestBudget_tenantDoesNotHoldRevocation(t *testing.T) {
	start(t, guarded(newHubNamespace(t)))
	g := generate(t)
	other := newCluster(t)
	g.bind(g.cluster, other)
	revoked := g.deploy("revoked", g.owned, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	delivered(t, revoked, other)
	g.remove(g.apps[:6]...)
	g.awaitHeld("ApplicationSet")
	g.bind(g.cluster)
	withdrawn(t, revoked)
	g.kept()
}

// A hold of the hub ends for those that are left in it once the others are back, and as few
// are left as any group may lose.
func TestBudget_hubHoldEndsForTheRest(t *testing.T) {
	start(t, guarded(newHubNamespace(t)), func(o *Options) {
		o.Withdrawals.Group, o.Withdrawals.Hub, o.Withdrawals.Window = limit.Limit{Percent: 99, Least: 2}, limit.Limit{Percent: 30, Least: 0}, 20*time.Second
	})
	mistaken, innocent := generate(t), newPlace(t)
	app := innocent.deploy("innocent")
	delivered(t, app, innocent.cluster)
	mistaken.remove(mistaken.apps[:4]...)
	began := time.Now()
	testkit.Until(t, "the four to be noted", func() bool { return time.Since(began) > time.Second })
	remove(t, app)
	testkit.Until(t, "all five to be held together", func() bool {
		return gauge(t, mistaken.namespace) == 4 && gauge(t, innocent.namespace) == 1
	})
	for i, a := range mistaken.apps[:4] {
		mistaken.apps[i] = mistaken.deploy(a.Name, mistaken.owned)
	}
	withdrawn(t, app)
	mistaken.kept()
}

// A hold ends by itself once what waits is within the limit again.
func TestBudget_holdEndsWithWindow(t *testing.T) {
	start(t, guarded(newHubNamespace(t)), func(o *Options) { o.Withdrawals.Window = 20 * time.Second })
	g := generate(t)
	g.remove(g.apps[:2]...)
	g.awaitLeft(many - 2)
	remove(t, g.apps[2])
	remove(t, g.apps[3])
	testkit.Eventually(t, "the hold of what is more than a quarter of twelve", func() error { return told(t, "ApplicationSet", g.namespace) })
	g.awaitLeft(many - 4)
}
