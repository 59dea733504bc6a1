// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Works that lost their label while no process ran are found also when their names are
// of an earlier life: no second one is made beside them, and a deletion waits for them.
func TestUnlabelledWhileNobodyWatched(t *testing.T) {
	p := newPlace(t)
	first := start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	kept, again, ended := p.deploy("kept"), p.deploy("again"), p.deploy("ended")
	ofKept, ofAgain, ofEnded := delivered(t, kept, p.cluster), delivered(t, again, p.cluster), delivered(t, ended, p.cluster)
	finalized(t, ofEnded)
	kept = remade(t, p, kept)
	adopted(t, kept, ofKept)
	ended = remade(t, p, ended, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	adopted(t, ended, ofEnded)
	first.stop()
	for _, work := range []*workv1.ManifestWork{ofKept, ofAgain, ofEnded} {
		edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	}
	again = remade(t, p, again)
	remove(t, ended)
	second := start(t)
	for app, work := range map[*argocd.Application]*workv1.ManifestWork{kept: ofKept, again: ofAgain} {
		adopted(t, app, work)
		testkit.Eventually(t, "the label of "+work.Name, func() error {
			if delivered(t, app, p.cluster).Labels[contract.PullLabel] != "true" {
				return errors.New("it is not back")
			}
			return nil
		})
	}
	says(t, ended, policy.WarningCondition, ofEnded.Name)
	for _, request := range second.requests.in(p.cluster) {
		if strings.HasPrefix(request, "POST") {
			t.Errorf("propagation sent %s", request)
		}
	}
	applyWell(t, stored(t, ofEnded))
	withdrawn(t, ended)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(ended) })
}

// A work whose label cannot be put back holds up neither the start nor other works.
func TestLabels_aWorkThatCannotBePatchedCostsItselfOnly(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	refused, restored := p.deploy("refused"), p.deploy("restored")
	ofRefused, ofRestored := delivered(t, refused, p.cluster), delivered(t, restored, p.cluster)
	first.stop()
	for _, work := range []*workv1.ManifestWork{ofRefused, ofRestored} {
		edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	}
	startAll(t, setting{wrap: func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if o.GetNamespace() == p.cluster && o.GetName() == ofRefused.Name {
					return apierrors.NewForbidden(workv1.Resource("manifestworks"), o.GetName(), errors.New("a webhook denied it"))
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		})
	}})
	delivered(t, p.deploy("another"), p.cluster)
	if after := delivered(t, restored, p.cluster); after.UID != ofRestored.UID || after.Labels[contract.PullLabel] != "true" {
		t.Errorf("the other work is %s with labels %v", after.Name, after.Labels)
	}
}
