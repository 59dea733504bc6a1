// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Decide plans the removal of a deleted or missing Application, and the release of a deleted one.
func TestDecide_plansTheRemovalOfADeletedApplication(t *testing.T) {
	abandon := func(s *scene) { s.annotate(contract.DeletionPolicyAnnotation, "abandon") }
	run(t, map[string]row{
		"gone a moment ago": {reason: "one that is made again at once keeps what it runs", change: func(s *scene) {
			s.delivered("w")
			s.gone(time.Second)
		}, want: "w keep ApplicationGone upcoming tenant:team"},
		"gone": {reason: "for the whole grace", change: func(s *scene) {
			s.delivered("w")
			s.gone(time.Minute)
		}, want: "w end ApplicationGone tenant:team bare say"},
		"gone, unknown to the ledger": {reason: "only the work names its group, which an agent can write", change: func(s *scene) {
			w := s.delivered("w")
			w.Live.Annotations[contract.HostingAnnotation] = "team/victim"
			w.see()
			s.gone(time.Minute)
			s.Works[0].Note = Note{}
		}, want: "w end ApplicationGone unproven:team/victim bare say"},
		"gone, a set of another namespace": {reason: "it is none that the Application can have had", change: func(s *scene) {
			w := s.delivered("w")
			w.Live.Annotations[contract.HostingAnnotation] = "other/victim"
			w.see()
			s.gone(time.Minute)
			s.Works[0].Note = Note{}
		}, want: "w end ApplicationGone unproven:team bare say"},
		"gone and revoked, unknown": {reason: "the cluster's lane", change: func(s *scene) {
			w := s.delivered("w")
			w.May.Bound = false
			w.missing(NotBound, over)
			s.gone(time.Minute)
			s.Works[0].Note.Known = false
		}, want: "w end NotBound cluster-revoked:c1 bare say"},
		"gone, two sets": {reason: "each work's own set is asked, so that no agent chooses for another cluster", change: func(s *scene) {
			s.delivered("a")
			s.aim("d1")
			s.delivered("b")
			s.gone(time.Minute)
			s.Works[0].Set = &Annotations{Override: Override{Effect: Hold, On: "ApplicationSet team/x"}}
		}, want: "a end ApplicationGone tenant:team delayed; b end ApplicationGone tenant:team bare say"},
		"gone with its set": {reason: "a hold outlives the set", change: func(s *scene) {
			s.set(Annotations{Gone: true, Override: Override{Effect: Hold, On: "ApplicationSet team/shops", Gone: true}})
			s.delivered("w")
			s.gone(time.Minute)
		}, want: "w end ApplicationGone tenant:team/shops delayed"},
		"gone with its set, approved": {reason: "unless an administrator approves", change: func(s *scene) {
			s.set(Annotations{Gone: true, Override: Override{Effect: Hold, On: "ApplicationSet team/shops", Gone: true}})
			s.delivered("w")
			s.gone(time.Minute)
			s.Namespace.Override = Override{Effect: Approve}
		}, want: "w end ApplicationGone tenant:team/shops bare say"},
		"deleted": {reason: "as its finalizers say", change: func(s *scene) {
			s.delivered("w")
			s.deleting()
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"deleted, nothing left": {reason: "it is released once the API server, too, has nothing", change: func(s *scene) { s.deleting() }, want: "release after proof"},
		"deleted, a leftover": {reason: "an agent can have any work name an Application: nothing waits for it", change: func(s *scene) {
			s.delivered("w").Relation = Leftover
			s.deleting()
		}, want: "w end Deleting cluster-withdrawn:c1 cascade delete; release after proof"},
		"deleted, its cluster is gone": {reason: "nothing is there any more", change: func(s *scene) {
			s.delivered("w").Cluster.Exists = false
			s.deleting()
		}, want: "w end Deleting tenant:team cascade delete; release after proof"},
		"deleted, terminating": {reason: "its cluster has not confirmed", change: func(s *scene) {
			w := s.delivered("w")
			w.Live.DeletionTimestamp = &metav1.Time{Time: noon}
			w.see()
			s.deleting()
		}, want: "w leave; Deleting", text: "waiting for cluster"},
		"deleted, paused": {reason: "the tenant's pause delays it", change: func(s *scene) {
			s.delivered("w")
			s.deleting()
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "w end Deleting tenant:team delayed; Paused"},
		"deleted, another set's word": {reason: "the owner's counts, not that which a work names", change: func(s *scene) {
			s.delivered("w").Set = &Annotations{Override: Override{Effect: Undo, On: "ApplicationSet team/other"}}
			s.deleting()
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"undone": {reason: "it is let go and its works stay", change: func(s *scene) {
			s.set(Annotations{Override: Override{Effect: Undo, On: "ApplicationSet team/shops"}})
			s.delivered("w")
			s.deleting()
		}, want: "w end Deleting tenant:team/shops delayed; release undone"},
		"abandoned": {reason: "a cluster that returns prunes", change: func(s *scene) {
			abandon(s)
			s.delivered("w")
			s.deleting()
		}, want: "w end Deleting cascade delete; release abandoned"},
		"abandoned and orphaned": {reason: "the work says that everything stays, and waits alone", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan,abandon")
			s.delivered("w")
			s.deleting()
		}, want: "w end Deleting orphan say; release abandoned"},
		"abandoned, paused": {reason: "a pause delays it all the same", change: func(s *scene) {
			abandon(s)
			s.delivered("w")
			s.deleting()
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "w end Deleting delayed; Paused"},
		"abandoned, held": {reason: "words of operators are not about it", change: func(s *scene) {
			abandon(s)
			s.delivered("w")
			s.deleting()
			s.Namespace.Override = Override{Effect: Hold, On: "Namespace team"}
		}, want: "w end Deleting cascade delete; release abandoned"},
		"orphan": {reason: "what stays is not counted", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			s.delivered("w")
			s.deleting()
		}, want: "w end Deleting orphan delete; Deleting"},
		"orphan, held": {reason: "a word keeps it all the same", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			s.delivered("w")
			s.deleting()
			s.Namespace.Override = Override{Effect: Hold, On: "Namespace team"}
		}, want: "w end Deleting delayed; Deleting"},
	})
}

// An Application counts as one delivery, however many works name it. A missing Application counts if the
// ledger has its owner.
func TestDecide_countsEachApplicationOnce(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		want   int
	}{
		"none yet":             {func(*scene) {}, 0},
		"one":                  {func(s *scene) { s.delivered("a") }, 1},
		"several":              {func(s *scene) { s.delivered("a"); s.aim("d1"); s.delivered("b") }, 1},
		"a leftover is none":   {func(s *scene) { s.delivered("a").Relation = Leftover }, 0},
		"gone, and known":      {func(s *scene) { s.delivered("a"); s.aim("d1"); s.delivered("b"); s.gone(0) }, 1},
		"gone, and not proven": {func(s *scene) { s.delivered("a"); s.gone(0); s.Works[0].Note.Known = false }, 0},
	} {
		s := newScene()
		c.change(s)
		if p := Decide(s.Facts); p.Deliveries != c.want || p.Group.Namespace != "team" {
			t.Errorf("%s: %d deliveries of %v, want %d", name, p.Deliveries, p.Group, c.want)
		}
	}
}

// ConfirmedBy drops deletions and releases that the state of the API server does not confirm.
func TestConfirmedBy(t *testing.T) {
	ended := func(change func(*scene)) Plan {
		s := newScene()
		s.delivered("w")
		s.deleting()
		change(s)
		return Decide(s.Facts)
	}
	cached := ended(func(s *scene) { s.Works[0].Live = nil })
	for name, c := range map[string]struct {
		live Plan
		want string
	}{
		"the same":               {ended(func(*scene) {}), "w end Deleting tenant:team cascade delete; Deleting"},
		"it is not deleted":      {ended(func(s *scene) { s.app.DeletionTimestamp = nil }), "w keep Deleting upcoming tenant:team"},
		"it is another's":        {ended(func(s *scene) { s.Works = nil }), "w keep Deleting upcoming tenant:team"},
		"others decide about it": {ended(func(s *scene) { s.set(Annotations{}) }), "w keep Deleting upcoming tenant:team; Deleting"},
		"it is paused by now":    {ended(func(s *scene) { s.Namespace.Pause = paused("delivery") }), "w end Deleting tenant:team delayed; Paused"},
		"how it ends is the API server's word": {ended(func(s *scene) {
			s.Works[0].ends(payload.Ending{Finalizers: []string{argocd.ResourcesFinalizer}})
		}), "w end Deleting tenant:team cascade delete; Deleting"},
	} {
		if got := tell(cached.ConfirmedBy(c.live)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	released := Decide(func() Facts { s := newScene(); s.deleting(); return s.Facts }())
	if got := released.ConfirmedBy(ended(func(*scene) {})); got.Release != NoRelease {
		t.Error("it is released although the API server has a work of it")
	}
	if !cached.Destroys(Verdict{Allowed: map[types.UID]bool{"w": true}}) || cached.Destroys(Verdict{}) || !released.Destroys(Verdict{}) {
		t.Error("what destroys is an end that may be carried out, or a release")
	}
}
