// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func into(namespace string) func(*argocd.Application) {
	return func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = namespace }
}

// A delivered identity belongs to one Application. When that Application is removed, propagation delivers the
// next one.
func TestIdentity_belongsToOneApplication(t *testing.T) {
	free := anywhere(t, "argocd", "argocd-two")
	first := start(t, free)
	p := newPlace(t)
	q := newNamespace(t, p)
	one := p.deploy("shop", into("argocd"))
	work := delivered(t, one, p.cluster)
	finalized(t, work)
	two := q.deploy("shop", into("argocd"))
	awaitCondition(t, two, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	testkit.Eventually(t, "the Event", func() error { return recorded(two, "not delivered: Application "+one.Namespace+"/shop") })
	first.stop()
	running := start(t, free)
	nextSecond(t, two.CreationTimestamp)
	third := newNamespace(t, p).deploy("shop", into("argocd"))
	awaitCondition(t, third, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	if own := works(t, two); len(own) > 0 {
		t.Fatalf("the younger has %d works", len(own))
	}
	for _, request := range running.requests.in(p.cluster) {
		t.Errorf("the restart sent %s", request)
	}
	remove(t, one)
	awaitCondition(t, two, policy.ErrorCondition, "has not finished removing")
	pruned(t, work)
	delivered(t, two, p.cluster)
	awaitCondition(t, two, policy.ErrorCondition, "")
	awaitCondition(t, third, policy.ErrorCondition, "not delivered: Application "+two.Namespace+"/shop")
	applying(t, p.cluster) // propagation deletes the former work once the new one is applied
	edit(t, two, func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = "argocd-two" })
	delivered(t, third, p.cluster)
	awaitCondition(t, third, policy.ErrorCondition, "")
}

// An Application without a namespace annotation claims its identity, too. Of two Applications of one moment,
// propagation always chooses the same owner.
func TestIdentity_alwaysGetsTheSameOwner(t *testing.T) {
	p := newPlace(t)
	q := newNamespace(t, p)
	one := p.deploy("shop")
	two := q.deploy("shop", into(p.namespace))
	if two.CreationTimestamp.Equal(&one.CreationTimestamp) && two.UID < one.UID {
		one, two = two, one
	}
	start(t, anywhere(t, p.namespace))
	delivered(t, one, p.cluster)
	awaitCondition(t, two, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	if own := works(t, two); len(own) > 0 {
		t.Fatalf("the younger has %d works", len(own))
	}
	// An Application that may not use the cluster has no claim.
	(&place{t: t, namespace: one.Namespace}).bind()
	withdrawn(t, one)
	delivered(t, two, p.cluster)
	awaitCondition(t, two, policy.ErrorCondition, "")
	// The older Application does not get the identity back from a running owner.
	(&place{t: t, namespace: one.Namespace}).bind(p.cluster)
	awaitCondition(t, one, policy.ErrorCondition, "not delivered: Application "+two.Namespace+"/shop")
	delivered(t, two, p.cluster)
}

// Two Applications have a work with the same identity, as an earlier version created them. The work of the
// younger one is deleted once the work of the older one is applied.
func TestIdentity_removesTheYoungerOfTwoWorks(t *testing.T) {
	p := newPlace(t)
	q := newNamespace(t, p)
	free := anywhere(t, "argocd")
	first := start(t, free)
	one := p.deploy("shop", into("argocd"))
	work := delivered(t, one, p.cluster)
	first.stop()
	nextSecond(t, one.CreationTimestamp)
	two := q.deploy("shop", into("argocd"))
	p.create(&workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.cluster, Name: contract.WorkName("shop", string(two.UID)), Labels: work.Labels,
			Annotations: map[string]string{contract.HubNamespaceAnnotation: two.Namespace, contract.HubNameAnnotation: "shop"},
		},
		Spec: work.Spec,
	})
	start(t, free)
	awaitCondition(t, two, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	if len(works(t, two)) != 1 {
		t.Fatal("the younger's copy went before the older's was applied")
	}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(work), work); err != nil {
		t.Fatal(err)
	}
	meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", ObservedGeneration: work.Generation})
	if err := hub.client.Status().Update(context.Background(), work); err != nil {
		t.Fatal(err)
	}
	edit(t, two, func(a *argocd.Application) { a.Labels["wake"] = "up" })
	withdrawn(t, two)
	if after := delivered(t, one, p.cluster); after.UID != work.UID {
		t.Error("the older's work was replaced")
	}
}

// The work of a rival counts even if only the API server has it and the cache does not.
func TestIdentity_countsWorksThatTheCacheLacks(t *testing.T) {
	p := newPlace(t)
	q := newNamespace(t, p)
	frozen := newFreezer("manifestworks")
	startFrozen(t, frozen, anywhere(t, "argocd"))
	elder := p.deploy("shop", into("argocd"), func(a *argocd.Application) { a.Labels = nil })
	nextSecond(t, elder.CreationTimestamp)
	frozen.freeze()
	two := q.deploy("shop", into("argocd"))
	testkit.Eventually(t, "the copy", func() error {
		if len(works(t, two)) != 1 {
			return errors.New("not there")
		}
		return nil
	})
	work := works(t, two)[0]
	edit(t, elder, func(a *argocd.Application) { a.Labels = map[string]string{contract.PullLabel: "true"} })
	awaitCondition(t, elder, policy.ErrorCondition, "not delivered: Application "+two.Namespace+"/shop")
	frozen.thaw()
	if after := delivered(t, two, p.cluster); after.UID != work.UID {
		t.Error("the copy was replaced")
	}
	if own := works(t, elder); len(own) > 0 {
		t.Errorf("the older newcomer has %d works", len(own))
	}
}

// After a change of identity, the former work stays until the new one is applied. On the same cluster it then
// ends without cascade, because both works track the same resources.
func TestMove_keepsTheFormerWorkUntilTheNewOneIsApplied(t *testing.T) {
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
					return fmt.Errorf("%d works: %v", n, storedConditions(t, app))
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

// An Application that is refused for a taken identity keeps its own work. The owner keeps its work as well,
// although the refused Application is older.
func TestMove_keepsBothWorksIfTheIdentityIsTaken(t *testing.T) {
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
	awaitCondition(t, elder, policy.ErrorCondition, "not delivered: Application "+owner.Namespace+"/shop")
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

// If the new cluster refuses the work for the moment, the former work stays.
func TestMove_keepsTheFormerWorkIfTheClusterRefuses(t *testing.T) {
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
	awaitCondition(t, app, policy.ErrorCondition, "the API server refused")
	another(t)
	if live := stored(t, work); live == nil || live.DeletionTimestamp != nil {
		t.Errorf("the former copy went, the new one is refused for the time being: %v", storedConditions(t, app))
	}
}

// A mass move within clusters counts as removals of the former copies.
func TestMove_countsAsARemoval(t *testing.T) {
	space := newHubNamespace(t)
	start(t, withBudget(space), anywhere(t, "elsewhere"))
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
