// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestHolder(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	named := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "other", Name: name} }
	me := claimant{key: named("me"), uid: "m", created: time.Unix(1500, 0), wants: true}
	mine := me
	mine.copy = "me-1"
	cases := map[string]struct {
		reason string
		me     claimant
		others []claimant
		want   string // "" is me
	}{
		"alone":         {reason: "nobody else asks", me: me},
		"younger":       {reason: "the older has it", me: me, others: []claimant{{key: named("a"), created: late, wants: true}}},
		"elder":         {reason: "an older one takes precedence", me: me, others: []claimant{{key: named("a"), created: early, wants: true}}, want: "a"},
		"sameSecond":    {reason: "the UID decides", me: me, others: []claimant{{key: named("a"), uid: "a", created: me.created, wants: true}}, want: "a"},
		"sameSecondZ":   {reason: "the UID decides, the other way", me: me, others: []claimant{{key: named("z"), uid: "z", created: me.created, wants: true}}},
		"running":       {reason: "a copy that runs wins over an older newcomer", me: me, others: []claimant{{key: named("a"), created: late, wants: true, copy: "a-1"}}, want: "a"},
		"mineRuns":      {reason: "mine, too", me: mine, others: []claimant{{key: named("a"), created: early, wants: true}}},
		"bothRun":       {reason: "of two copies the older's stays", me: mine, others: []claimant{{key: named("a"), created: early, wants: true, copy: "a-1"}}, want: "a"},
		"bothRunMine":   {reason: "which may be mine", me: mine, others: []claimant{{key: named("a"), created: late, wants: true, copy: "a-1"}}},
		"left":          {reason: "what somebody left behind has to go first", me: me, others: []claimant{{key: named("a"), copy: "a-1"}}, want: "a"},
		"leftBeside":    {reason: "what somebody left beside mine goes by itself", me: mine, others: []claimant{{key: named("a"), copy: "a-1"}}},
		"leftAndWanted": {reason: "one that asks is named before one that has left", me: me, others: []claimant{{key: named("a"), copy: "a-1"}, {key: named("b"), created: late, wants: true, copy: "b-1"}}, want: "b"},
		"runsBeside":    {reason: "the one that runs is named, not an older one that waits as well", me: me, others: []claimant{{key: named("a"), created: early, wants: true}, {key: named("b"), created: late, wants: true, copy: "b-1"}}, want: "b"},
		"eldest":        {reason: "the eldest of several is named, in whatever order they come", me: me, others: []claimant{{key: named("b"), created: early.Add(1), wants: true}, {key: named("a"), created: early, wants: true}, {key: named("c"), created: early.Add(2), wants: true}}, want: "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			best, taken := holder(c.me, c.others)
			if taken != (c.want != "") || best.key.Name != c.want {
				t.Errorf("%s: got %q (%t)", c.reason, best.key.Name, taken)
			}
		})
	}
}

func into(namespace string) func(*argocd.Application) {
	return func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = namespace }
}

// One delivered identity belongs to one Application; when that goes, the other is
// delivered by itself.
func TestIdentityBelongsToOne(t *testing.T) {
	free := anywhere(t, "argocd", "argocd-two")
	first := start(t, free)
	p := newPlace(t)
	q := newNamespace(t, p)
	one := p.deploy("shop", into("argocd"))
	work := delivered(t, one, p.cluster)
	finalized(t, work)
	two := q.deploy("shop", into("argocd"))
	says(t, two, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	testkit.Eventually(t, "the Event", func() error { return recorded(two, "not delivered: Application "+one.Namespace+"/shop") })
	first.stop()
	running := start(t, free)
	nextSecond(t, two.CreationTimestamp)
	third := newNamespace(t, p).deploy("shop", into("argocd"))
	says(t, third, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	if own := works(t, two); len(own) > 0 {
		t.Fatalf("the younger has %d works", len(own))
	}
	for _, request := range running.requests.in(p.cluster) {
		t.Errorf("the restart sent %s", request)
	}
	remove(t, one)
	says(t, two, policy.ErrorCondition, "has not finished removing")
	pruned(t, work)
	delivered(t, two, p.cluster)
	says(t, two, policy.ErrorCondition, "")
	says(t, third, policy.ErrorCondition, "not delivered: Application "+two.Namespace+"/shop")
	applying(t, p.cluster) // the former copy goes once the new one is applied
	edit(t, two, func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = "argocd-two" })
	delivered(t, third, p.cluster)
	says(t, third, policy.ErrorCondition, "")
}

// An Application that needs no annotation for its place is a claimant as well, and
// both of one moment come to the same end.
func TestIdentityOfBothAtOnce(t *testing.T) {
	p := newPlace(t)
	q := newNamespace(t, p)
	one := p.deploy("shop")
	two := q.deploy("shop", into(p.namespace))
	if two.CreationTimestamp.Equal(&one.CreationTimestamp) && two.UID < one.UID {
		one, two = two, one
	}
	start(t, anywhere(t, p.namespace))
	delivered(t, one, p.cluster)
	says(t, two, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
	if own := works(t, two); len(own) > 0 {
		t.Fatalf("the younger has %d works", len(own))
	}
	// one that may not use the cluster has no claim
	(&place{t: t, namespace: one.Namespace}).bind()
	withdrawn(t, one)
	delivered(t, two, p.cluster)
	says(t, two, policy.ErrorCondition, "")
	// and does not get it back from one that runs, although it is the older
	(&place{t: t, namespace: one.Namespace}).bind(p.cluster)
	says(t, one, policy.ErrorCondition, "not delivered: Application "+two.Namespace+"/shop")
	delivered(t, two, p.cluster)
}

// Two copies of one identity, as an earlier version made them: the younger's goes,
// once the older's is applied.
func TestIdentityThatTwoHave(t *testing.T) {
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
	says(t, two, policy.ErrorCondition, "not delivered: Application "+one.Namespace+"/shop")
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

// A rival's work that only the API server has counts already.
func TestIdentityOfAnUnseenCopy(t *testing.T) {
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
	says(t, elder, policy.ErrorCondition, "not delivered: Application "+two.Namespace+"/shop")
	frozen.thaw()
	if after := delivered(t, two, p.cluster); after.UID != work.UID {
		t.Error("the copy was replaced")
	}
	if own := works(t, elder); len(own) > 0 {
		t.Errorf("the older newcomer has %d works", len(own))
	}
}
