// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// oneApplication is a hub whose cache has one Application.
type oneApplication struct {
	client.Client
	app *argocd.Application
}

func (o oneApplication) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if apps, ok := list.(*argocd.ApplicationList); ok {
		apps.Items = []argocd.Application{*o.app}
	}
	return nil
}

// meanwhile is a reader during whose look at ManifestWorks something else happens.
type meanwhile struct {
	*hubObjects
	happens func()
}

func (m *meanwhile) Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error) {
	found, err := m.hubObjects.Works(ctx, key, app)
	m.happens()
	return found, err
}

// What is planned at the start does not take the place of what a reconcile has planned since.
func TestPrepare_leavesLaterPlans(t *testing.T) {
	h := settled(t)
	g := clients{client: oneApplication{app: h.app}, index: manifestcache.NewIndex(store{h.works[0].Work, nil})}
	b := budget.New(g.client, g.client, nil, budget.Options{})
	r := &Reconciler{facts: h.sources(), budget: b, sweeper: newSweeper(g)}
	r.cached = &meanwhile{hubObjects: h, happens: func() {
		b.Set(decide.Plan{Key: teamApp, Group: decide.Group{Namespace: "team"}, Deliveries: 1, Fates: []decide.Fate{{UID: h.works[1].UID, Own: true}}})
	}}
	if wait, err := r.prepare(t.Context(), gatherNow); err != nil || wait != 0 {
		t.Fatalf("wait %s, %v", wait, err)
	}
	if note := b.Note(h.works[1].UID); note.Group.Set != "" {
		t.Errorf("the plan of the reconcile is lost: %+v", note)
	}
	if note := b.Note(h.works[0].UID); note.Known {
		t.Errorf("a ManifestWork of an older plan came back: %+v", note)
	}
}
