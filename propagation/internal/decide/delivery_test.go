// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// begun sets whether an agent has started to apply a work.
func begun(w *Work, yes bool) {
	if w.Finalized = yes; !yes {
		w.Applied = ""
	}
}

// Decide removes works that the Application no longer desires.
func TestDecide_removesUndesiredWorks(t *testing.T) {
	move := func(s *scene) { // c1 is the former cluster, d1 the current one
		s.delivered("old")
		s.aim("d1")
		s.delivered("new")
	}
	// unapplied has the agent of the first work not answer to its ending, which it has had for some time.
	unapplied := func(s *scene, since time.Duration) {
		w := &s.Works[0]
		w.ends(payload.Ending{Finalizers: s.app.Finalizers})
		w.Applied, w.Waiting, w.Note.Allowed = "", noon.Add(-since), true
	}
	rename := func(s *scene) {
		s.delivered("old")
		s.annotate(contract.AppNamespaceAnnotation, "gitops")
		w := s.delivered("new")
		w.Live.Name = payload.WorkNames(s.app)[1]
		w.see()
	}
	run(t, map[string]row{
		"new":     {reason: "one write", change: func(*scene) {}, want: "create"},
		"label 1": {reason: "ParseBool takes 1 for true", change: func(s *scene) { s.app.Labels[contract.PullLabel] = "1" }, want: "create"},
		"turned off": {reason: "the user's wish", change: func(s *scene) {
			s.delivered("w")
			s.app.Labels[contract.PullLabel] = "false"
		}, want: "w end TurnedOff tenant:team cascade delete; TurnedOff"},
		"label gone": {reason: "as well", change: func(s *scene) {
			s.delivered("w")
			s.app.Labels = nil
		}, want: "w end TurnedOff tenant:team cascade delete; LabelMissing"},
		"no cluster named": {reason: "as well", change: func(s *scene) {
			s.delivered("w")
			delete(s.app.Annotations, contract.ClusterAnnotation)
		}, want: "w end TurnedOff tenant:team cascade delete; ClusterAnnotationMissing"},
		"asks for nothing":         {reason: "it hears nothing", change: func(s *scene) { s.app.Labels, s.app.Annotations = nil, nil }, want: ""},
		"turned off, nothing left": {reason: "it is said", change: func(s *scene) { s.app.Labels[contract.PullLabel] = "false" }, want: "TurnedOff", text: "set it to"},
		"turned off, paused": {reason: "a pause of the tenant delays its own wish", change: func(s *scene) {
			s.delivered("w")
			s.app.Labels[contract.PullLabel] = "false"
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "w end TurnedOff tenant:team delayed; Paused"},
		"turned off, cluster paused": {reason: "a cluster delays no withdrawal", change: func(s *scene) {
			s.delivered("w").Cluster.Pause = paused("delivery")
			s.app.Labels[contract.PullLabel] = "false"
		}, want: "w end TurnedOff tenant:team cascade delete; TurnedOff"},
		"turned off, invalid policy": {reason: "what cannot be followed takes nothing away, whatever the mark", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			s.delivered("w")
			s.annotate(contract.DeletionPolicyAnnotation, "nonsense")
			s.app.Labels[contract.PullLabel] = "false"
		}, want: "w end TurnedOff delayed:problem; InvalidAnnotation"},
		"moved": {reason: "the former copy goes once the present one runs", change: move, want: "update new; old end Retargeted tenant:team cascade delete; new rewrite"},
		"moved, not applied": {reason: "there is no gap", change: func(s *scene) {
			move(s)
			s.Works[1].Applied = ""
		}, want: "update new; old keep; new rewrite"},
		"moved, refused there": {reason: "nor when the agent cannot apply it", change: func(s *scene) {
			move(s)
			s.Works[1].Applied = metav1.ConditionFalse
		}, want: "update new; old keep; new rewrite"},
		"moved, the former agent unreachable": {reason: "two clusters have the workload", change: func(s *scene) {
			move(s)
			unapplied(s, waitQuiet)
		}, want: "update new; old end Retargeted tenant:team cascade wait; new rewrite; OrphanPending", text: `waiting for cluster "c1"`},
		"moved, the former agent answers": {reason: "a usual move writes no status", change: func(s *scene) {
			move(s)
			unapplied(s, waitQuiet-time.Second)
		}, want: "update new; old end Retargeted tenant:team cascade wait; new rewrite"},
		"moved, held": {reason: "the budget reports it", change: func(s *scene) {
			move(s)
			unapplied(s, time.Hour)
			s.Works[0].Note.Allowed = false
		}, want: "update new; old end Retargeted tenant:team cascade wait; new rewrite"},
		"moved, never begun": {reason: "nothing is there", change: func(s *scene) {
			begun(s.delivered("old"), false)
			s.aim("d1")
		}, want: "create; old end NeverApplied bare delete"},
		"moved, never begun, paused": {reason: "a pause leaves every work as it is", change: func(s *scene) {
			begun(s.delivered("old"), false)
			s.aim("d1")
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "old end NeverApplied delayed; Paused"},
		"moved, paused": {reason: "both changes wait", change: func(s *scene) {
			s.delivered("old")
			s.aim("d1")
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "old keep; Paused", text: "2 changes wait"},
		"renamed": {reason: "both track the same resources: never orphan, never cascade", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			rename(s)
		}, want: "update new; old end Renamed tenant:team bare say; new rewrite"},
		"renamed, the first on its cluster counts": {reason: "the others are judged with the cluster", change: func(s *scene) {
			rename(s)
			s.Works[0], s.Works[1] = s.Works[1], s.Works[0]
			s.deleting()
		}, want: "new end Deleting cluster-withdrawn:c1 cascade delete; old end Deleting tenant:team cascade delete; Deleting"},
		"replaced": {reason: "the other delivers the same", change: func(s *scene) {
			s.delivered("old")
			w := s.delivered("new")
			w.Live.Name = "adopted"
			w.see()
			s.annotate(contract.PausedAnnotation, "")
		}, want: "update new; old end Replaced bare delete; new rewrite"},
		"observed elsewhere": {reason: "a work that only reads takes nothing with it", change: func(s *scene) {
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
			s.delivered("old")
			s.aim("d1")
		}, want: "create; old end Observed bare delete; Observed"},
		"from observe to delivery": {reason: "the work that read delivers", change: func(s *scene) {
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
			s.delivered("w")
			delete(s.app.Annotations, contract.ManagementPolicyAnnotation)
		}, want: "update w; w rewrite"},
		"reads while another delivers": {reason: "what only reads does not run", change: func(s *scene) {
			s.delivered("old")
			s.aim("d1")
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
			s.delivered("new")
			delete(s.app.Annotations, contract.ManagementPolicyAnnotation)
		}, want: "update new; old keep; new rewrite"},
		"taken, the other's not applied": {reason: "the copy stays", change: func(s *scene) {
			s.delivered("w")
			s.Rivals = []Rival{{Copy: "its", Wants: true}}
			s.app.CreationTimestamp = metav1.NewTime(noon)
		}, want: "w keep; IdentityTaken"},
		"taken": {reason: "the other's copy is applied: nothing is lost, and nobody delays it", change: func(s *scene) {
			s.delivered("w")
			s.Rivals = []Rival{{Copy: "its", Applied: true, Wants: true}}
			s.app.CreationTimestamp = metav1.NewTime(noon)
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "w end IdentityTaken bare delete; IdentityTaken"},
		"a younger rival": {reason: "who came first has it", change: func(s *scene) {
			s.delivered("w")
			s.Rivals = []Rival{{Copy: "its", Applied: true, Wants: true, Created: noon}}
		}, want: "update w; w rewrite"},
		"own identity ends": {reason: "nothing is made beside what goes", change: func(s *scene) {
			w := s.delivered("w")
			w.May.Bound = false
			w.missing(NotBound, over)
		}, want: "w end NotBound admin:team cascade delete; WaitingForWithdrawal"},
		"too large, and a former": {reason: "what a former wish left goes on its own", change: func(s *scene) {
			move(s)
			s.Settings.SizeLimit = 100
		}, want: "old end Retargeted tenant:team cascade delete; new keep; TooLarge"},
		"malformed status": {reason: "its request is unknown: nothing is written", change: func(s *scene) {
			s.delivered("w")
			s.StatusProblem = "no object"
		}, want: "w keep; InvalidSpec"},
		"an operation": {reason: "it gets an identity first", change: func(s *scene) {
			s.delivered("w")
			s.app.Operation = json.RawMessage(`{"sync":{}}`)
		}, want: "w keep"},
		"project forbids": {reason: "the managed cluster's Argo CD refuses it, and reports that", change: func(s *scene) {
			s.Settings.DeliverProject, s.Project = true, &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: json.RawMessage(`{"destinations":[{"server":"https://other","namespace":"*"}]}`)}
		}, want: "create"},
		"window": {reason: "what says when not to sync is not left behind in silence", change: func(s *scene) {
			s.project("default")
			s.Settings.DeliverProject = true
			s.Default = &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: json.RawMessage(`{"syncWindows":[{"clusters":["c1"]}]}`)}
		}, want: "create; WindowNotDelivered", text: "another project"},
		"window escaped": {reason: "nor is one that another destination takes it out of", change: func(s *scene) {
			s.annotate(contract.DestinationNameAnnotation, "elsewhere")
			s.Settings.DeliverProject, s.Project = true, &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: json.RawMessage(`{"destinations":[{"name":"*","namespace":"*"}],"syncWindows":[{"clusters":["c1"]}]}`)}
		}, want: "create; WindowNotDelivered", text: "add the destination"},
		"beside an agent": {reason: "an agent on the cluster is in nobody's way", change: func(s *scene) { s.HasAgent = true }, want: "create"},
		"the hub's own": {reason: "two controllers would fight: a warning", change: func(s *scene) {
			delete(s.app.Annotations, argocd.SkipReconcileAnnotation)
		}, want: "create; SkipReconcileMissing", text: "set annotation"},
	})
}

// A removal that waits beside a delivery is reported after a while.
func TestDecide_plansTheReportOfAWaitingRemoval(t *testing.T) {
	for since, want := range map[time.Duration]time.Duration{0: waitQuiet, 20 * time.Second: waitQuiet - 20*time.Second, waitQuiet: afterAgent} {
		s := newScene()
		s.delivered("old").Waiting = noon.Add(-since)
		s.aim("d1")
		s.delivered("new")
		w := &s.Works[0]
		w.ends(payload.Ending{Finalizers: s.app.Finalizers})
		w.Applied, w.Note.Allowed = "", true
		if p := Decide(s.Facts); p.After != want || len(p.Report.Warnings) != map[bool]int{true: 1}[since == waitQuiet] {
			t.Errorf("after %s: again after %s, want %s; report %+v", since, p.After, want, p.Report)
		}
	}
}

// If several Applications desire one identity, holder returns its owner.
func TestDecide_findsTheOwnerOfAnIdentity(t *testing.T) {
	early, late := noon.Add(-time.Hour), noon.Add(time.Hour)
	named := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "other", Name: name} }
	for name, c := range map[string]struct {
		reason string
		mine   bool // the Application has a work
		others []Rival
		want   string // "" is the Application itself
	}{
		"alone":         {reason: "nobody else asks"},
		"younger":       {reason: "the older has it", others: []Rival{{Key: named("a"), Created: late, Wants: true}}},
		"older":         {reason: "an older one takes precedence", others: []Rival{{Key: named("a"), Created: early, Wants: true}}, want: "a"},
		"sameSecond":    {reason: "the UID decides", others: []Rival{{Key: named("a"), UID: "0", Created: noon, Wants: true}}, want: "a"},
		"sameSecondZ":   {reason: "the UID decides, the other way", others: []Rival{{Key: named("z"), UID: "z", Created: noon, Wants: true}}},
		"running":       {reason: "a copy that runs wins over an older newcomer", others: []Rival{{Key: named("a"), Created: late, Wants: true, Copy: "a-1"}}, want: "a"},
		"mineRuns":      {reason: "mine, too", mine: true, others: []Rival{{Key: named("a"), Created: early, Wants: true}}},
		"bothRun":       {reason: "of two copies the older's stays", mine: true, others: []Rival{{Key: named("a"), Created: early, Wants: true, Copy: "a-1"}}, want: "a"},
		"bothRunMine":   {reason: "which may be mine", mine: true, others: []Rival{{Key: named("a"), Created: late, Wants: true, Copy: "a-1"}}},
		"left":          {reason: "what somebody left behind has to go first", others: []Rival{{Key: named("a"), Copy: "a-1"}}, want: "a"},
		"leftBeside":    {reason: "what somebody left beside mine goes by itself", mine: true, others: []Rival{{Key: named("a"), Copy: "a-1"}}},
		"leftAndWanted": {reason: "one that asks is named before one that has left", others: []Rival{{Key: named("a"), Copy: "a-1"}, {Key: named("b"), Created: late, Wants: true, Copy: "b-1"}}, want: "b"},
		"runsBeside":    {reason: "the one that runs is named, not an older one that waits as well", others: []Rival{{Key: named("a"), Created: early, Wants: true}, {Key: named("b"), Created: late, Wants: true, Copy: "b-1"}}, want: "b"},
		"eldest":        {reason: "the eldest of several is named, in whatever order they come", others: []Rival{{Key: named("b"), Created: early.Add(1), Wants: true}, {Key: named("a"), Created: early, Wants: true}, {Key: named("c"), Created: early.Add(2), Wants: true}}, want: "a"},
	} {
		s := newScene()
		s.app.CreationTimestamp = metav1.NewTime(noon)
		s.Rivals = c.others
		w := &delivery{e: newEvaluation(s.Facts), app: s.app, identity: payload.DeliveredName(s.app)}
		if c.mine {
			s.delivered("w")
			w.e = newEvaluation(s.Facts)
			w.current = w.e.subjects[0]
		}
		if best, taken := w.owner(w.current); taken != (c.want != "") || best.Key.Name != c.want {
			t.Errorf("%s: %s: got %q (%t)", name, c.reason, best.Key.Name, taken)
		}
	}
}
