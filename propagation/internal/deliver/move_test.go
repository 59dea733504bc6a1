// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Another identity is another work: the former one stays until the new one is applied, and
// on the same cluster ends without cascade, since both track the same resources.
func TestMove_formerCopyStaysUntilTheNewOneIsApplied(t *testing.T) {
	for name, within := range map[string]bool{"within the cluster": true, "to another cluster": false} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			other := newCluster(t)
			p.bind(p.cluster, other)
			start(t, anywhere(t, "elsewhere"))
			app := p.deploy("moved", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
			former := delivered(t, app, p.cluster)
			finalized(t, former)
			applyWell(t, former)
			edit(t, app, func(a *argocd.Application) {
				if within {
					a.Annotations[contract.AppNamespaceAnnotation] = "elsewhere"
				} else {
					a.Annotations[contract.ClusterAnnotation] = other
				}
			})
			testkit.Eventually(t, "both works", func() error {
				if n := len(works(t, app)); n != 2 {
					return fmt.Errorf("%d works: %v", n, said(t, app))
				}
				return nil
			})
			another(t)
			if live := stored(t, former); live == nil || live.DeletionTimestamp != nil {
				t.Fatal("the former copy goes before the new one is applied")
			}
			for _, w := range works(t, app) {
				if w.UID != former.UID {
					applyWell(t, &w)
				}
			}
			if within {
				waitsForAgent(t, former, func(raw string) bool { return !strings.Contains(raw, argocd.ResourcesFinalizer) })
				applyWell(t, stored(t, former))
			}
			last := appliedBeforeItsEnd(t, former)
			if cascade := strings.Contains(applicationIn(last), argocd.ResourcesFinalizer); cascade == within {
				t.Errorf("it ends with cascade: %t", cascade)
			}
			testkit.Eventually(t, "one work", func() error {
				if n := len(works(t, app)); n != 1 {
					return fmt.Errorf("%d works", n)
				}
				return nil
			})
			edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
		})
	}
}

// Who is refused for a taken identity keeps what runs, and so does its owner: the older has
// no claim to what it does not run.
func TestMove_toATakenIdentityCostsTheMoveOnly(t *testing.T) {
	start(t, anywhere(t, "argocd"))
	p := newPlace(t)
	q := newNamespace(t, p)
	elder := p.deploy("shop")
	own := delivered(t, elder, p.cluster)
	applyWell(t, own)
	nextSecond(t, elder.CreationTimestamp)
	owner := q.deploy("shop", into("argocd"))
	theirs := delivered(t, owner, p.cluster)
	applyWell(t, theirs)
	edit(t, elder, into("argocd"))
	says(t, elder, policy.ErrorCondition, "not delivered: Application "+owner.Namespace+"/shop")
	another(t)
	for _, w := range works(t, elder) {
		if w.UID != own.UID || w.DeletionTimestamp != nil {
			t.Errorf("the refused one has %s", w.Name)
		}
	}
	if live := stored(t, own); live == nil || live.DeletionTimestamp != nil || strings.Contains(applicationIn(live), `"namespace":"argocd"`) {
		t.Error("the refused one does not run on as it was")
	}
	if live := stored(t, theirs); live == nil || live.DeletionTimestamp != nil || live.Generation != theirs.Generation {
		t.Error("the owner's work is touched")
	}
}

// A target that refuses for the moment costs no copy that runs.
func TestMove_toARefusingClusterKeepsTheFormerCopy(t *testing.T) {
	start(t)
	p := newPlace(t)
	other := newCluster(t)
	remove(t, namespace(other))
	testkit.Eventually(t, "the cluster namespace to go", func() error {
		ns := namespace(other)
		if hub.client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns) == nil && ns.DeletionTimestamp == nil {
			return errors.New("there")
		}
		return nil
	})
	p.bind(p.cluster, other)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	applyWell(t, work)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	says(t, app, policy.ErrorCondition, "the API server refused")
	another(t)
	if live := stored(t, work); live == nil || live.DeletionTimestamp != nil {
		t.Errorf("the former copy went, the new one is refused for the time being: %v", said(t, app))
	}
}

// A mass move within clusters is counted as what it is, withdrawals of the former copies.
func TestMove_ofManyIsCountedAsWithdrawals(t *testing.T) {
	space := newHubNamespace(t)
	start(t, guarded(space), anywhere(t, "elsewhere"))
	g := generate(t)
	applying(t, g.cluster)
	g.each(many, func(a *argocd.Application) { edit(t, a, into("elsewhere")) })
	testkit.Eventually(t, "the former copies to be held", func() error {
		if n, _ := heldEvents(t, argocd.ApplicationSetKind, g.namespace, policy.ReasonWithdrawalHeld); n == 0 {
			return errors.New("no Event")
		}
		return nil
	})
	for _, a := range g.apps {
		for _, w := range works(t, a) {
			if w.UID == g.uids[a.Name] && w.DeletionTimestamp != nil {
				t.Errorf("the former copy of %s goes", a.Name)
			}
		}
	}
}
