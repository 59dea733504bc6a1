// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// over is a time for which something has been missing that is more than the grace.
const over = 2*grace + time.Second

// What a work's own place grants decides first, whatever the Application asks for.
func TestDecide_permission(t *testing.T) {
	unbound := func(w *Work, since time.Duration) {
		w.May.Bound = false
		w.missing(NotBound, since)
	}
	former := func(s *scene) *Work { // a copy on c1 of an Application that asks for d1
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
		}, want: "w end ClusterLeaving cascade delete; ClusterLeaving"},
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
		// A tenant does not stop a revocation by asking for something else.
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
			s.Target.There = false
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
			s.set(Words{Pause: paused("delivery"), Ruling: Ruling{Word: Hold}})
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
			s.Hub.Ruling = Ruling{Word: Hold, On: "Namespace hub"}
		}, want: "create; w end NotBound admin:team delayed"},
		"a set's hold": {reason: "a tenant may not", change: func(s *scene) {
			s.set(Words{Ruling: Ruling{Word: Undo, On: "ApplicationSet team/shops"}})
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
			a, b := s.delivered("a"), s.delivered("b")
			b = &s.Works[1]
			a = &s.Works[0]
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

// A wish that is refused ends nothing.
func TestDecide_refused(t *testing.T) {
	rows := map[string]row{
		"label no boolean":  {change: func(s *scene) { s.app.Labels[contract.PullLabel] = "yes" }, want: policy.ReasonInvalidLabel, text: "set it to"},
		"cluster invalid":   {change: func(s *scene) { s.annotate(contract.ClusterAnnotation, "../kube-system") }, want: policy.ReasonInvalidTarget, text: "ManagedCluster"},
		"cluster too long":  {change: func(s *scene) { s.annotate(contract.ClusterAnnotation, strings.Repeat("a", 64)) }, want: policy.ReasonInvalidTarget},
		"cluster unknown":   {change: func(s *scene) { s.aim("d1"); s.Target.There = false }, want: policy.ReasonUnknownCluster, text: "register"},
		"cluster leaving":   {change: func(s *scene) { s.aim("d1"); s.Target.Leaving = true }, want: policy.ReasonClusterLeaving},
		"the hub":           {change: func(s *scene) { s.aim("d1"); s.Target.Hub = true }, want: policy.ReasonLocalCluster, text: "another cluster"},
		"not bound":         {change: func(s *scene) { s.aim("d1"); s.May.Bound = false }, want: policy.ReasonNotBound, text: "create a Placement"},
		"not bound, paused": {change: func(s *scene) { s.aim("d1"); s.May.Bound = false; s.annotate(contract.PausedAnnotation, "delivery") }, want: policy.ReasonNotBound},
		"project, paused": {change: func(s *scene) {
			s.project("wrong")
			s.May.Project = false
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: policy.ReasonProjectDenied},
		"namespace":           {change: func(s *scene) { s.annotate(contract.AppNamespaceAnnotation, "gitops"); s.May.Namespace = false }, want: policy.ReasonNamespaceDenied, text: "--allowed-app-namespaces"},
		"namespace invalid":   {change: func(s *scene) { s.annotate(contract.AppNamespaceAnnotation, "A b") }, want: policy.ReasonInvalidTarget, text: "namespace"},
		"project":             {change: func(s *scene) { s.May.Project, s.Project = false, &argocd.AppProject{Spec: json.RawMessage(`{}`)} }, want: policy.ReasonProjectDenied, text: "spec.sourceNamespaces"},
		"project not there":   {change: func(s *scene) { s.May.Project = false }, want: policy.ReasonProjectDenied, text: "there is no AppProject"},
		"project malformed":   {change: func(s *scene) { s.Project = &argocd.AppProject{Spec: json.RawMessage(`{"sourceNamespaces":"team"}`)} }, want: policy.ReasonProjectDenied, text: "cannot be read"},
		"by argocd-agent":     {change: func(s *scene) { s.ByAgent = "c9" }, want: policy.ReasonAlsoByAgent, text: "remove label"},
		"policy invalid":      {change: func(s *scene) { s.annotate(contract.DeletionPolicyAnnotation, "nonsense") }, want: policy.ReasonInvalidTarget, text: "want prune or orphan"},
		"set's policy":        {change: func(s *scene) { s.set(Words{Policy: policy.DeletionPolicy{Problem: "its value"}}) }, want: policy.ReasonInvalidTarget},
		"management invalid":  {change: func(s *scene) { s.annotate(contract.ManagementPolicyAnnotation, "yes") }, want: policy.ReasonInvalidTarget, text: "want no-takeover or observe"},
		"no spec":             {change: func(s *scene) { s.app.Spec = nil }, want: policy.ReasonInvalidSpec, text: "no spec"},
		"spec is null":        {change: func(s *scene) { s.app.Spec = json.RawMessage("null") }, want: policy.ReasonInvalidSpec},
		"spec is a list":      {change: func(s *scene) { s.app.Spec = json.RawMessage("[1]") }, want: policy.ReasonInvalidSpec},
		"destination is text": {change: func(s *scene) { s.app.Spec = json.RawMessage(`{"destination":"x"}`) }, want: policy.ReasonInvalidSpec},
		"observe a delivery":  {change: func(s *scene) { s.annotate(contract.ManagementPolicyAnnotation, "observe") }, want: policy.ReasonInvalidTarget, text: "remove the annotation, or delete"},
		"observe and move": {change: func(s *scene) {
			s.aim("d1")
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
		}, want: policy.ReasonInvalidTarget, text: `cluster "c1"`},
		"observe elsewhere in the cluster": {change: func(s *scene) {
			s.annotate(contract.AppNamespaceAnnotation, "gitops")
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
		}, want: policy.ReasonInvalidTarget},
		"identity only left": {change: func(s *scene) {
			s.aim("d1")
			s.Rivals = []Rival{{Key: types.NamespacedName{Namespace: "other", Name: "shop"}, Copy: "its"}}
		}, want: policy.ReasonWaitingForOld, text: "has not finished removing"},
		"identity wanted by an older": {change: func(s *scene) {
			s.aim("d1")
			s.Rivals = []Rival{{Key: types.NamespacedName{Namespace: "other", Name: "shop"}, Wants: true, Created: noon.Add(-time.Hour * 9)}}
			s.app.CreationTimestamp = metav1.NewTime(noon)
		}, want: policy.ReasonTaken, text: "already delivers"},
		"two wait for each other": {change: func(s *scene) {
			s.aim("d1")
			s.Rivals = []Rival{{Key: types.NamespacedName{Namespace: "other", Name: "shop"}, Copy: "its", Wants: true, Waits: s.Key}}
		}, want: policy.ReasonWaitingForOld, text: "third namespace"},
		"too large": {change: func(s *scene) { s.Settings.SizeLimit = 100 }, want: policy.ReasonTooLarge, text: "into git"},
		"spec not kept": {change: func(s *scene) {
			s.app.Spec = json.RawMessage(`{"multicluster-integrations/bytes":700000,"project":"wide","destination":{}}`)
		}, want: policy.ReasonTooLarge},
	}
	for name, r := range rows {
		change := r.change
		r.reason, r.want = "what was delivered before stays", "w keep; "+r.want
		r.change = func(s *scene) {
			s.delivered("w")
			change(s)
		}
		rows[name] = r
	}
	run(t, rows)
	for _, reason := range []string{"not bound", "project", "cluster unknown", "label no boolean"} {
		s := newScene()
		rows[reason].change(s)
		if text := Decide(s.Facts).Report.Refusal.Text; !strings.Contains(text, `until then cluster "c1" keeps what was delivered before`) {
			t.Errorf("%s: %q does not say that it stays", reason, text)
		}
	}
}

// What the Application asks for ends what it does not ask for any more.
func TestDecide_wish(t *testing.T) {
	move := func(s *scene) { // c1 is former and d1 current
		s.delivered("old")
		s.aim("d1")
		s.delivered("new")
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
		"moved, never begun": {reason: "nothing is there", change: func(s *scene) {
			s.delivered("old").Finalized = false
			s.aim("d1")
		}, want: "create; old end NeverApplied cascade delete"},
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
		}, want: "w keep"},
		"an operation": {reason: "it gets an identity first", change: func(s *scene) {
			s.delivered("w")
			s.app.Operation = json.RawMessage(`{"sync":{}}`)
		}, want: "w keep"},
		"the hub's own": {reason: "two controllers would fight: a warning", change: func(s *scene) {
			delete(s.app.Annotations, argocd.SkipReconcileAnnotation)
		}, want: "create; SkipReconcileMissing", text: "set annotation"},
	})
}

// Deletion, and what an Application leaves behind.
func TestDecide_deletion(t *testing.T) {
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
			s.delivered("w")
			s.gone(time.Minute)
			s.Works[0].Note = Note{Group: Group{Namespace: "team", Set: "victim"}}
		}, want: "w end ApplicationGone unproven:team/victim bare say"},
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
			s.Works[0].Set = &Words{Ruling: Ruling{Word: Hold, On: "ApplicationSet team/x"}}
		}, want: "a end ApplicationGone tenant:team delayed; b end ApplicationGone tenant:team bare say"},
		"gone with its set": {reason: "a hold outlives the set", change: func(s *scene) {
			s.set(Words{Gone: true, Ruling: Ruling{Word: Hold, On: "ApplicationSet team/shops", Gone: true}})
			s.delivered("w")
			s.gone(time.Minute)
		}, want: "w end ApplicationGone tenant:team/shops delayed"},
		"gone with its set, approved": {reason: "unless an administrator approves", change: func(s *scene) {
			s.set(Words{Gone: true, Ruling: Ruling{Word: Hold, On: "ApplicationSet team/shops", Gone: true}})
			s.delivered("w")
			s.gone(time.Minute)
			s.Namespace.Ruling = Ruling{Word: Approve}
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
			s.delivered("w").Cluster.There = false
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
			s.delivered("w").Set = &Words{Ruling: Ruling{Word: Undo, On: "ApplicationSet team/other"}}
			s.deleting()
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"undone": {reason: "it is let go and its works stay", change: func(s *scene) {
			s.set(Words{Ruling: Ruling{Word: Undo, On: "ApplicationSet team/shops"}})
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
			s.Namespace.Ruling = Ruling{Word: Hold, On: "Namespace team"}
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
			s.Namespace.Ruling = Ruling{Word: Hold, On: "Namespace team"}
		}, want: "w end Deleting delayed; Deleting"},
	})
}

// How a work ends, and when it goes.
func TestDecide_end(t *testing.T) {
	deleted := func(s *scene, finalizers ...string) *Work {
		s.app.Finalizers = finalizers
		w := s.delivered("w")
		s.deleting()
		return w
	}
	cascade := payload.Ending{Finalizers: []string{argocd.ResourcesFinalizer}}
	const request = "end-without-cascade"
	run(t, map[string]row{
		"cascade, applied": {reason: "the agent has applied it", change: func(s *scene) {
			deleted(s, argocd.ResourcesFinalizer).says(cascade)
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"cascade, unreported": {reason: "the agent has not", change: func(s *scene) {
			w := deleted(s, argocd.ResourcesFinalizer)
			w.says(cascade)
			w.Applied = ""
		}, want: "w end Deleting tenant:team cascade wait; Deleting"},
		"cascade, refused": {reason: "waiting would not have it pruned any better", change: func(s *scene) {
			w := deleted(s, argocd.ResourcesFinalizer)
			w.says(cascade)
			w.Applied = metav1.ConditionFalse
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"bare, proven": {reason: "the cluster has reported that no finalizer is left", change: func(s *scene) {
			deleted(s).says(payload.Ending{}, value(contract.FeedbackRequest, request))
		}, want: "w end Deleting tenant:team bare delete; Deleting"},
		"bare, another's finalizer": {reason: "Argo CD would prune what is to stay", change: func(s *scene) {
			deleted(s).says(payload.Ending{}, value(contract.FeedbackRequest, request), value("finalizer0", argocd.ResourcesFinalizer))
			s.Works[0].Note.Allowed = true
		}, want: "w end Deleting tenant:team bare wait; OrphanPending", text: "another field manager"},
		"bare, refused": {reason: "something would be lost", change: func(s *scene) {
			w := deleted(s)
			w.says(payload.Ending{})
			w.Applied = metav1.ConditionFalse
		}, want: "w end Deleting tenant:team bare wait; Deleting"},
		"bare, refused, and not there": {reason: "nothing is there to stay", change: func(s *scene) {
			w := deleted(s)
			w.says(payload.Ending{})
			w.Applied, w.Missing = metav1.ConditionFalse, true
		}, want: "w end Deleting tenant:team bare delete; Deleting"},
		"post-delete hooks alone": {reason: "they leave what is deployed", change: func(s *scene) {
			w := deleted(s, argocd.PostDeleteFinalizer)
			w.says(payload.Ending{Finalizers: []string{argocd.PostDeleteFinalizer}})
			w.Applied = metav1.ConditionFalse
		}, want: "w end Deleting tenant:team cascade wait; Deleting"},
		"a manifest cannot be decoded": {reason: "it is said, and nothing is deleted", change: func(s *scene) {
			w := deleted(s)
			w.Live.Spec.Workload.Manifests[0].Raw = []byte("{")
		}, want: "w end Deleting tenant:team bare wait; Deleting"},
		"by the cache alone": {reason: "what the spec says is not known", change: func(s *scene) {
			deleted(s, argocd.ResourcesFinalizer).Live = nil
		}, want: "w end Deleting tenant:team cascade say; Deleting"},
		"an automation of another manager": {reason: "the tenant may not have it synced any more", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			w := s.delivered("w")
			w.says(payload.Ending{Orphan: true, WithoutAutomation: true}, value(contract.FeedbackRequest, "stay-without-automation"), value(contract.FeedbackAutomationOwner, "kubectl"))
			w.May.Bound, s.May.Bound = false, false
			w.missing(NotBound, over)
			w.Note.Allowed = true
		}, want: "w end NotBound admin:team orphan-stopped wait; OrphanPending", text: "field manager kubectl"},
		"no automation left": {reason: "nobody has it sync by itself", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			w := s.delivered("w")
			w.says(payload.Ending{Orphan: true, WithoutAutomation: true}, value(contract.FeedbackRequest, "stay-without-automation"))
			w.May.Bound, s.May.Bound = false, false
			w.missing(NotBound, over)
		}, want: "w end NotBound admin:team orphan-stopped delete; NotBound"},
	})
}

// Rights and automation reach whatever stays.
func TestDecide_refresh(t *testing.T) {
	run(t, map[string]row{
		"rewritten": {reason: "the write has it", change: func(s *scene) { s.delivered("w").Stale = true }, want: "update w; w rewrite"},
		"paused":    {reason: "nobody delays what takes rights away", change: func(s *scene) { s.delivered("w").Stale = true; s.Namespace.Pause = paused("delivery") }, want: "w refresh project"},
		"refused":   {reason: "also where the wish is refused", change: func(s *scene) { s.delivered("w").Stale = true; s.May.Bound = false }, want: "w refresh project; NotBound"},
		"former":    {reason: "and on a former cluster, while the present one is not applied", change: func(s *scene) { s.delivered("w").Stale = true; s.aim("d1") }, want: "create; w refresh project"},
		"gone, held": {reason: "and of an Application that is gone", change: func(s *scene) {
			s.delivered("w").Stale = true
			s.gone(time.Hour)
			s.Works[0].Set = &Words{Ruling: Ruling{Word: Hold, On: "set"}}
		}, want: "w end ApplicationGone tenant:team project delayed"},
		"gone, in grace":  {reason: "also in its grace", change: func(s *scene) { s.delivered("w").Stale = true; s.gone(0) }, want: "w refresh ApplicationGone upcoming tenant:team project"},
		"waits for agent": {reason: "and of one that ends", change: func(s *scene) { s.delivered("w").Stale = true; s.deleting() }, want: "w end Deleting tenant:team project cascade delete; Deleting"},
		"terminating": {reason: "its agent does not look at it any more", change: func(s *scene) {
			w := s.delivered("w")
			w.Stale, w.Live.DeletionTimestamp = true, &metav1.Time{Time: noon}
			w.see()
			s.deleting()
		}, want: "w leave; Deleting"},
		"paused syncs":         {reason: "the automation is taken out", change: func(s *scene) { s.delivered("w"); s.annotate(contract.PausedAnnotation, "sync") }, want: "w refresh automation-out"},
		"paused syncs, former": {reason: "of every copy", change: func(s *scene) { s.delivered("w"); s.aim("d1"); s.annotate(contract.PausedAnnotation, "sync") }, want: "w refresh automation-out; Paused"},
		"one cluster's pause":  {reason: "concerns that cluster alone", change: func(s *scene) { s.delivered("w"); s.aim("d1"); s.Target.Pause = paused("sync") }, want: "w keep; Paused"},
		"automation back": {reason: "the pause is over, and the wish is refused", change: func(s *scene) {
			w := s.delivered("w")
			w.stopped()
			s.Settings.SizeLimit = 100
		}, want: "w refresh automation-back; TooLarge"},
		"automation, other pause": {reason: "a pause of deliveries leaves works as they are", change: func(s *scene) {
			w := s.delivered("w")
			w.stopped()
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "w keep"},
	})
}

// Who says that what is delivered stays, and for how long that counts.
func TestMark(t *testing.T) {
	const app, set, none = payload.ByApplication, payload.BySet, payload.NoMark
	for name, c := range map[string]struct {
		own  string
		set  string // its set's word; "none" for no set
		gone bool
		was  payload.Mark
		want payload.Mark
	}{
		"nothing is said":                              {set: "none", want: none},
		"the Application says so":                      {own: "orphan", set: "none", want: app},
		"it counts more than the set":                  {own: "prune", set: "orphan", was: set, want: none},
		"the set says so":                              {set: "orphan", want: set},
		"the set has taken it back":                    {set: "", was: set, want: none},
		"the Application has taken it back":            {set: "none", was: app, want: none},
		"the set went and left its Applications":       {set: "none", was: set, want: set},
		"the Application has another word since":       {own: "prune", set: "none", was: set, want: none},
		"the Application is gone":                      {set: "none", gone: true, was: app, want: app},
		"its word outlives it, whatever the set says":  {set: "prune", gone: true, was: app, want: app},
		"the set's word counts when it is gone":        {set: "orphan", gone: true, want: set},
		"the set has another when it is gone":          {set: "prune", gone: true, was: set, want: none},
		"both are gone":                                {set: "none", gone: true, was: set, want: set},
		"a value that cannot be followed changes none": {own: "nonsense", set: "none", was: app, want: app},
	} {
		s := newScene()
		if c.own != "" {
			s.annotate(contract.DeletionPolicyAnnotation, c.own)
		}
		var owner *Words
		if c.set != "none" {
			owner = &Words{Policy: policy.ParseDeletionPolicy(c.set, "", true)}
		}
		if c.gone {
			s.Application = nil
		}
		if got := markOf(&s.Facts, owner, c.was); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What is empty, missing or malformed takes no permission away.
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

// Every speaker meets every change.
func TestDelays(t *testing.T) {
	want := map[Change]string{Deliver: "ASNC", Withdraw: "ASN", Revoke: "N"}
	for change := Deliver; change <= Revoke; change++ {
		for speaker, letter := range map[Speaker]string{OnApplication: "A", OnApplicationSet: "S", OnNamespace: "N", OnCluster: "C"} {
			if got := delays[change][speaker]; got != strings.Contains(want[change], letter) {
				t.Errorf("speaker %s may delay change %d: %t", letter, change, got)
			}
		}
	}
}

// What the API server does not confirm is not done.
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
		"others decide about it": {ended(func(s *scene) { s.set(Words{}) }), "w keep Deleting upcoming tenant:team; Deleting"},
		"it is paused by now":    {ended(func(s *scene) { s.Namespace.Pause = paused("delivery") }), "w end Deleting tenant:team delayed; Paused"},
		"how it ends is the API server's word": {ended(func(s *scene) {
			s.Works[0].says(payload.Ending{Finalizers: []string{argocd.ResourcesFinalizer}})
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
