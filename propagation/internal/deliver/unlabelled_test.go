// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"strings"
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Works that lost their label while nobody watched are found also when their names are
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
