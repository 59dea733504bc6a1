// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// over is longer than two grace periods.
const over = 2*grace + time.Second

// A permission that a work has lost takes precedence over the desired state of the Application.
func TestDecide_putsLostPermissionsFirst(t *testing.T) {
	unbound := func(w *Work, since time.Duration) {
		w.May.Bound = false
		w.missing(NotBound, since)
	}
	former := func(s *scene) *Work { // a work on c1 of an Application with target d1
		w := s.delivered("w")
		s.aim("d1")
		return w
	}
	const revoked = "w end NotBound admin:team cascade delete"
	run(t, map[string]row{
		"all granted": {reason: "nothing is in the way", change: func(s *scene) { s.delivered("w") }, want: "update w; w rewrite"},
		"terminating": {reason: "its end is under way", change: func(s *scene) {
			w := s.delivered("w")
			w.Live.DeletionTimestamp = &metav1.Time{Time: noon}
			w.see()
		}, want: "w leave; WaitingForWithdrawal"},
		"cluster leaving": {reason: "OCM removes its works whatever propagation does", change: func(s *scene) {
			s.delivered("w").Cluster.Leaving = true
			s.Namespace.Pause = paused("delivery")
			s.Target.Leaving = true
		}, want: "w end ClusterLeaving bare delete; ClusterLeaving"},
		"not bound": {reason: "for the whole grace", change: func(s *scene) {
			unbound(s.delivered("w"), grace)
			s.May.Bound = false
		}, want: revoked + "; NotBound"},
		"not bound yet": {reason: "the grace goes on, and it is counted", change: func(s *scene) {
			unbound(s.delivered("w"), grace-time.Second)
			s.May.Bound = false
		}, want: "w keep NotBound upcoming admin:team; NotBound", text: "--binding-grace"},
		"not bound a moment ago": {reason: "a cluster moves between two PlacementDecisions", change: func(s *scene) {
			unbound(s.delivered("w"), time.Second)
			s.May.Bound = false
		}, want: "w keep NotBound upcoming admin:team"},
		"a clock from the future": {reason: "it counts from now", change: func(s *scene) {
			unbound(s.delivered("w"), -time.Hour)
			s.May.Bound = false
		}, want: "w keep NotBound upcoming admin:team"},
		"the hub": {reason: "an agent can label its ManagedCluster: its own lane", change: func(s *scene) {
			w := s.delivered("w")
			w.Cluster.Hub, s.Target.Hub = true, true
			w.missing(LocalCluster, over)
		}, want: "w end LocalCluster cluster-revoked:c1 cascade delete; LocalCluster"},
		"the hub, its grace": {reason: "a label set for a moment ends nothing", change: func(s *scene) {
			s.delivered("w").Cluster.Hub = true
			s.Target.Hub = true
		}, want: "w keep LocalCluster upcoming cluster-revoked:c1"},
		"project": {reason: "another reason has no effect on this one's clock", change: func(s *scene) {
			w := s.delivered("w")
			w.May.Project, s.May.Project = false, false
			w.missing(ProjectNotAllowed, grace)
		}, want: "w end ProjectNotAllowed admin:team cascade delete; ProjectNotAllowed"},
		"namespace": {reason: "what an administrator has taken off the list", change: func(s *scene) {
			s.annotate(contract.AppNamespaceAnnotation, "gitops")
			w := s.delivered("w")
			w.May.Namespace, s.May.Namespace = false, false
			w.missing(NamespaceNotAllowed, grace)
		}, want: "w end AppNamespaceNotAllowed admin:team cascade delete; AppNamespaceNotAllowed"},
		"each its own clock": {reason: "two that have been missing for half a grace are no whole one", change: func(s *scene) {
			w := s.delivered("w")
			w.May.Project, w.May.Bound, s.May.Bound = false, false, false
			w.missing(ProjectNotAllowed, grace/2)
			w.missing(NotBound, grace/2)
		}, want: "w keep ProjectNotAllowed upcoming admin:team; NotBound"},
		// A tenant cannot stop a removal after a lost permission by changing its Application.
		"former cluster, paused": {reason: "the Application is paused beside a move", change: func(s *scene) {
			unbound(former(s), over)
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: revoked + "; Paused"},
		"former cluster, other's pause": {reason: "another cluster's agent pauses the target", change: func(s *scene) {
			unbound(former(s), over)
			s.Target.Pause = paused("delivery")
		}, want: revoked + "; Paused"},
		"label off, paused": {reason: "what is turned off is revoked all the same", change: func(s *scene) {
			unbound(s.delivered("w"), over)
			s.app.Labels[contract.PullLabel] = "false"
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: revoked + "; TurnedOff"},
		"no such cluster, paused": {reason: "so is what asks for nowhere", change: func(s *scene) {
			unbound(former(s), over)
			s.Target.Exists = false
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: revoked + "; ClusterUnknown"},
		"deleted, paused": {reason: "so is what is deleted", change: func(s *scene) {
			unbound(s.delivered("w"), over)
			s.deleting()
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: revoked + "; Deleting"},
		"deleted, invalid policy": {reason: "or has an invalid deletion policy", change: func(s *scene) {
			unbound(s.delivered("w"), over)
			s.deleting()
			s.annotate(contract.DeletionPolicyAnnotation, "nonsense")
		}, want: revoked + "; Deleting"},
		"set deleted, paused": {reason: "so is what is gone with its ApplicationSet", change: func(s *scene) {
			s.set(Annotations{Pause: paused("delivery"), Override: Override{Effect: Hold}})
			unbound(s.delivered("w"), over)
			s.gone(time.Hour)
		}, want: "w end NotBound admin:team/shops bare say"},
		"project carried": {reason: "the work carries a project that admits it no more, and the wish is a slip", change: func(s *scene) {
			w := s.delivered("w")
			s.project("narrow")
			s.annotate(contract.ManagementPolicyAnnotation, "nonsense")
			w.May.Project = false
			w.missing(ProjectNotAllowed, over)
		}, want: "w end ProjectNotAllowed cluster-revoked:c1 cascade delete; InvalidAnnotation"},
		"namespace carried": {reason: "the work lies where it may not, and the wish is a slip", change: func(s *scene) {
			s.annotate(contract.AppNamespaceAnnotation, "gitops")
			w := s.delivered("w")
			s.annotate(contract.AppNamespaceAnnotation, "Not_A_Namespace")
			w.May.Namespace = false
			w.missing(NamespaceNotAllowed, over)
		}, want: "w end AppNamespaceNotAllowed cluster-revoked:c1 cascade delete; InvalidAnnotation"},
		"an administrator's pause": {reason: "the one who revokes may wait", change: func(s *scene) {
			unbound(former(s), over)
			s.Namespace.Pause = paused("delivery")
		}, want: "w end NotBound admin:team delayed; Paused"},
		"an administrator's hold": {reason: "or hold", change: func(s *scene) {
			unbound(former(s), over)
			s.Hub.Override = Override{Effect: Hold, On: "Namespace hub"}
		}, want: "create; w end NotBound admin:team delayed"},
		"a set's hold": {reason: "a tenant may not", change: func(s *scene) {
			s.set(Annotations{Override: Override{Effect: Undo, On: "ApplicationSet team/shops"}})
			unbound(former(s), over)
		}, want: "create; w end NotBound admin:team/shops cascade delete"},
		"orphan": {reason: "what stays does not follow its git any more", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			unbound(former(s), over)
		}, want: "create; w end NotBound admin:team orphan-stopped say"},
		"mend": {reason: "only the carried project is missing and the wish gives another: it is written first", change: func(s *scene) {
			w := s.delivered("w")
			s.project("narrow")
			w.May.Project = false
			w.missing(ProjectNotAllowed, grace)
		}, want: "update w; w rewrite ProjectNotAllowed upcoming cluster-revoked:c1; ProjectNotAllowed", text: "ProjectNotAllowed"},
		"mend too late": {reason: "the write has not come about for one grace more", change: func(s *scene) {
			w := s.delivered("w")
			s.project("narrow")
			w.May.Project = false
			w.missing(ProjectNotAllowed, 2*grace)
		}, want: "w end ProjectNotAllowed cluster-revoked:c1 cascade delete; WaitingForWithdrawal"},
		"mend paused": {reason: "a pause gains no time", change: func(s *scene) {
			w := s.delivered("w")
			s.project("narrow")
			s.annotate(contract.PausedAnnotation, "delivery")
			w.May.Project = false
			w.missing(ProjectNotAllowed, grace)
		}, want: "w end ProjectNotAllowed cluster-revoked:c1 cascade delete; WaitingForWithdrawal"},
		"another work of it there": {reason: "an agent can copy the proof of one: further ones are its cluster's", change: func(s *scene) {
			s.delivered("a")
			b := s.delivered("b")
			a := &s.Works[0]
			b.Live.Name = "copy"
			b.see()
			unbound(a, over)
			unbound(b, over)
			s.May.Bound = false
		}, want: "a end NotBound admin:team cascade delete; b end NotBound cluster-revoked:c1 cascade delete; NotBound"},
		"leftover": {reason: "a work that only names the Application", change: func(s *scene) {
			w := former(s)
			w.Relation = Leftover
			unbound(w, over)
		}, want: "create; w end NotBound cluster-revoked:c1 cascade delete"},
	})
}

// An unknown target, an unknown project name and a malformed AppProject remove no permission. An AppProject
// without sourceNamespaces admits no tenant.
func TestPermission(t *testing.T) {
	project := func(spec string) *argocd.AppProject { return &argocd.AppProject{Spec: json.RawMessage(spec)} }
	all := Permission{true, true, true}
	var allowed policy.AppNamespaces
	if err := allowed.Set("te*=gitops"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		place Place
		want  Permission
	}{
		"at home, no such project":           {Place{Namespace: "team", Bound: true, ProjectName: "p", Target: "team"}, all},
		"not bound":                          {Place{Namespace: "team", ProjectName: "p", Target: "team"}, Permission{false, true, true}},
		"elsewhere":                          {Place{Namespace: "team", Bound: true, ProjectName: "p", Target: "argocd"}, Permission{true, false, false}},
		"listed, no project":                 {Place{Namespace: "team", Bound: true, ProjectName: "p", Target: "gitops"}, Permission{true, false, true}},
		"listed, a project admits":           {Place{Namespace: "team", Bound: true, ProjectName: "p", Project: project(`{"sourceNamespaces":["t*"]}`), Target: "gitops"}, all},
		"listed for others":                  {Place{Namespace: "shop", Bound: true, ProjectName: "p", Project: project(`{"sourceNamespaces":["*"]}`), Target: "gitops"}, Permission{true, true, false}},
		"the project is for others":          {Place{Namespace: "team", Bound: true, ProjectName: "p", Project: project(`{"sourceNamespaces":["x"]}`), Target: "team"}, Permission{true, false, true}},
		"the project names none":             {Place{Namespace: "team", Bound: true, ProjectName: "p", Project: project(`{}`), Target: "team"}, Permission{true, false, true}},
		"the project has no spec":            {Place{Namespace: "team", Bound: true, ProjectName: "p", Project: &argocd.AppProject{}, Target: "team"}, Permission{true, false, true}},
		"the project is malformed":           {Place{Namespace: "team", Bound: true, ProjectName: "p", Project: project(`{"sourceNamespaces":"x"}`), Target: "team"}, all},
		"administrators go where they like":  {Place{Namespace: "argocd", Bound: true, ProjectName: "p", Project: project(`{}`), Target: "other"}, all},
		"administrators need a binding, too": {Place{Namespace: "argocd", ProjectName: "p", Target: "other"}, Permission{false, true, true}},
		"what it delivers is unknown":        {Place{Namespace: "team", Bound: true}, all},
		"its project is unknown":             {Place{Namespace: "team", Bound: true, Target: "team"}, all},
	} {
		s := Settings{ArgoCDNamespace: "argocd", AppNamespaces: allowed}
		if got := s.Permission(c.place); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
