// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Decide chooses how a work ends, and the next step of its deletion.
func TestDecide_choosesTheEnding(t *testing.T) {
	deleted := func(s *scene, finalizers ...string) *Work {
		s.app.Finalizers = finalizers
		w := s.delivered("w")
		s.deleting()
		return w
	}
	cascade := payload.Ending{Finalizers: []string{argocd.ResourcesFinalizer}}
	// revoked has a work without its permission, whose agent has refused its ending for some time.
	revoked := func(s *scene, e payload.Ending, since time.Duration) *Work {
		w := s.delivered("w")
		w.ends(e)
		w.May.Bound, s.May.Bound, w.Note.Allowed = false, false, true
		w.missing(NotBound, over)
		w.Applied = metav1.ConditionFalse
		w.refused("failed to create typed patch object (team/shop; argoproj.io/v1alpha1, Kind=Application): .spec.extra: field not declared in schema", since)
		return w
	}
	const request = "end-without-cascade"
	bare := func(s *scene) { s.app.Finalizers = nil }
	run(t, map[string]row{
		"cascade, applied": {reason: "the agent has applied it", change: func(s *scene) {
			deleted(s, argocd.ResourcesFinalizer).ends(cascade)
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"cascade, unreported": {reason: "the agent has not", change: func(s *scene) {
			w := deleted(s, argocd.ResourcesFinalizer)
			w.ends(cascade)
			w.Applied = ""
		}, want: "w end Deleting tenant:team cascade wait; Deleting"},
		"cascade, refused": {reason: "waiting would not have it pruned any better", change: func(s *scene) {
			w := deleted(s, argocd.ResourcesFinalizer)
			w.ends(cascade)
			w.Applied = metav1.ConditionFalse
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"bare, proven": {reason: "the cluster has reported that no finalizer is left", change: func(s *scene) {
			deleted(s).ends(payload.Ending{}, value(contract.FeedbackRequest, request))
		}, want: "w end Deleting tenant:team bare delete; Deleting"},
		"bare, another's finalizer": {reason: "Argo CD would prune what is to stay", change: func(s *scene) {
			deleted(s).ends(payload.Ending{}, value(contract.FeedbackRequest, request), value("finalizer0", argocd.ResourcesFinalizer))
			s.Works[0].Note.Allowed = true
		}, want: "w end Deleting tenant:team bare wait; OrphanPending", text: "another field manager"},
		"bare, refused": {reason: "something would be lost", change: func(s *scene) {
			w := deleted(s)
			w.ends(payload.Ending{})
			w.Applied = metav1.ConditionFalse
		}, want: "w end Deleting tenant:team bare wait; Deleting"},
		"bare, refused, and not there": {reason: "nothing is there to stay", change: func(s *scene) {
			w := deleted(s)
			w.ends(payload.Ending{})
			w.Applied, w.Missing = metav1.ConditionFalse, true
		}, want: "w end Deleting tenant:team bare delete; Deleting"},
		"bare, refused for long": {reason: "the tenant itself asks for the removal", change: func(s *scene) {
			bare(s)
			w := revoked(s, payload.Ending{}, over)
			w.May.Bound, s.May.Bound = true, true
			s.deleting()
		}, want: "w end Deleting tenant:team bare wait; OrphanPending"},
		"revoked, refused a moment ago": {reason: "the cluster may accept it in a moment", change: func(s *scene) {
			bare(s)
			revoked(s, payload.Ending{}, grace-time.Second)
		}, want: "w end NotBound admin:team bare wait; OrphanPending", text: ".spec.extra: field not declared in schema"},
		"revoked, refused in the future": {reason: "the clock of a cluster may be wrong", change: func(s *scene) {
			bare(s)
			revoked(s, payload.Ending{}, -time.Hour)
		}, want: "w end NotBound admin:team bare wait; OrphanPending"},
		"revoked, refused for long": {reason: "what a tenant writes delays no revocation for ever", change: func(s *scene) {
			bare(s)
			revoked(s, payload.Ending{}, grace)
		}, want: "w end NotBound admin:team bare-reduced say; OrphanPending"},
		"revoked, ending too large": {reason: "the hub would refuse the ending, whatever its agent reports", change: func(s *scene) {
			bare(s)
			w := s.delivered("w")
			w.May.Bound, s.May.Bound, w.Note.Allowed = false, false, true
			w.missing(NotBound, over)
			s.Settings.SizeLimit = payload.Size(&w.Live.Spec)
		}, want: "w end NotBound admin:team bare-reduced say; OrphanPending"},
		"revoked, too large with its ending": {reason: "the hub has accepted it", change: func(s *scene) {
			bare(s)
			w := revoked(s, payload.Ending{}, 0)
			w.Applied = ""
			s.Settings.SizeLimit = payload.Size(&w.Live.Spec) - 1
		}, want: "w end NotBound admin:team bare wait; OrphanPending"},
		"revoked, refused before its ending": {reason: "the ending may be what the cluster accepts", change: func(s *scene) {
			w := revoked(s, payload.Ending{Finalizers: []string{argocd.ResourcesFinalizer}}, over)
			bare(s)
			w.see()
		}, want: "w end NotBound admin:team bare say; OrphanPending"},
		"revoked, refused, by the cache alone": {reason: "what the spec says is not known", change: func(s *scene) {
			bare(s)
			revoked(s, payload.Ending{}, over).Live = nil
		}, want: "w end NotBound admin:team bare say; OrphanPending"},
		"revoked, refused, and not there": {reason: "nothing is there to stay", change: func(s *scene) {
			bare(s)
			revoked(s, payload.Ending{}, over).Missing = true
		}, want: "w end NotBound admin:team bare delete; NotBound"},
		"revoked, refused, no takeover": {reason: "with fewer fields it would take over another owner's Application", change: func(s *scene) {
			bare(s)
			s.annotate(contract.ManagementPolicyAnnotation, payload.ManagementNoTakeover)
			revoked(s, payload.Ending{}, over)
		}, want: "w end NotBound admin:team bare wait; OrphanPending"},
		"revoked, refused, post-delete hooks": {reason: "hooks need the source, which is the tenant's", change: func(s *scene) {
			s.app.Finalizers = []string{argocd.PostDeleteFinalizer}
			revoked(s, payload.Ending{Finalizers: s.app.Finalizers}, over)
		}, want: "w end NotBound admin:team bare-reduced say; OrphanPending"},
		"revoked, refused, orphan": {reason: "everything stays, and does not follow its git any more", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			revoked(s, payload.Ending{Orphan: true, WithoutAutomation: true}, over)
		}, want: "w end NotBound admin:team orphan-stopped-reduced say; OrphanPending"},
		"revoked, reduced and unreported": {reason: "the agent has not", change: func(s *scene) {
			s.app.Finalizers = []string{argocd.PostDeleteFinalizer}
			revoked(s, payload.Ending{Reduced: true}, over).Applied = ""
		}, want: "w end NotBound admin:team bare-reduced wait; OrphanPending"},
		"revoked, reduced and refused": {reason: "the tenant wrote nothing of what the cluster refuses", change: func(s *scene) {
			bare(s)
			revoked(s, payload.Ending{Reduced: true}, over)
		}, want: "w end NotBound admin:team bare-reduced wait; OrphanPending", text: ".spec.extra: field not declared in schema"},
		"revoked, reduced and applied": {reason: "no finalizer is left", change: func(s *scene) {
			bare(s)
			w := revoked(s, payload.Ending{Reduced: true}, over)
			w.ends(payload.Ending{Reduced: true}, value(contract.FeedbackRequest, request))
			w.Applied = metav1.ConditionTrue
		}, want: "w end NotBound admin:team bare-reduced delete; NotBound"},
		"post-delete hooks alone": {reason: "they leave what is deployed", change: func(s *scene) {
			w := deleted(s, argocd.PostDeleteFinalizer)
			w.ends(payload.Ending{Finalizers: []string{argocd.PostDeleteFinalizer}})
			w.Applied = metav1.ConditionFalse
		}, want: "w end Deleting tenant:team cascade wait; Deleting"},
		"post-delete hooks alone, another's finalizer": {reason: "Argo CD would prune what is to stay", change: func(s *scene) {
			deleted(s, argocd.PostDeleteFinalizer).ends(payload.Ending{Finalizers: []string{argocd.PostDeleteFinalizer}},
				value(contract.FeedbackRequest, request), value("finalizer0", argocd.PostDeleteFinalizer), value("finalizer1", argocd.ResourcesFinalizer))
			s.Works[0].Note.Allowed = true
		}, want: "w end Deleting tenant:team cascade wait; OrphanPending", text: "another field manager"},
		"post-delete hooks alone, proven": {reason: "nothing would be pruned", change: func(s *scene) {
			deleted(s, argocd.PostDeleteFinalizer).ends(payload.Ending{Finalizers: []string{argocd.PostDeleteFinalizer}},
				value(contract.FeedbackRequest, request), value("finalizer0", argocd.PostDeleteFinalizer))
		}, want: "w end Deleting tenant:team cascade delete; Deleting"},
		"observed by mistake, with orphan": {reason: "the refused observation does not prune", change: func(s *scene) {
			deleted(s, argocd.ResourcesFinalizer)
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
		}, want: "w end Deleting orphan say; OrphanPending", text: "add abandon to the annotation of this Application"},
		"the orphan of a deleted set, before its mark": {reason: "the policy outlives the set", change: func(s *scene) {
			s.set(Annotations{Gone: true, Policy: policy.DeletionPolicy{Value: payload.DeletionOrphan}})
			deleted(s, argocd.ResourcesFinalizer)
		}, want: "w end Deleting orphan say; OrphanPending"},
		"the hold of a deleted set": {reason: "it is no policy", change: func(s *scene) {
			s.set(Annotations{Gone: true, Override: Override{Effect: Hold, Gone: true, On: "ApplicationSet team/shops", Until: noon.Add(time.Hour)}})
			deleted(s, argocd.ResourcesFinalizer)
		}, want: "w end Deleting tenant:team/shops delayed; Deleting"},
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
			w.ends(payload.Ending{Orphan: true, WithoutAutomation: true}, value(contract.FeedbackRequest, "stay-without-automation"), value(contract.FeedbackAutomationOwner, "kubectl"))
			w.May.Bound, s.May.Bound = false, false
			w.missing(NotBound, over)
			w.Note.Allowed = true
		}, want: "w end NotBound admin:team orphan-stopped wait; OrphanPending", text: "delete its ManagedCluster; it reports: "},
		"no automation left": {reason: "nobody has it sync by itself", change: func(s *scene) {
			s.annotate(contract.DeletionPolicyAnnotation, "orphan")
			w := s.delivered("w")
			w.ends(payload.Ending{Orphan: true, WithoutAutomation: true}, value(contract.FeedbackRequest, "stay-without-automation"))
			w.May.Bound, s.May.Bound = false, false
			w.missing(NotBound, over)
		}, want: "w end NotBound admin:team orphan-stopped delete; NotBound"},
	})
}

// A removal that waits for its agent is planned again after ten minutes, because the agent's changes are
// events. A removal that waits for a finalizer on the cluster is planned again after a minute.
func TestDecide_plansAWaitingRemovalAgain(t *testing.T) {
	for name, c := range map[string]struct {
		values []workv1.FeedbackValue
		want   time.Duration
	}{
		"its agent": {nil, 10 * time.Minute},
		"a finalizer on the cluster": {[]workv1.FeedbackValue{
			value(contract.FeedbackRequest, "end-without-cascade"), value("finalizer0", argocd.ResourcesFinalizer),
		}, time.Minute},
	} {
		s := newScene()
		s.app.Finalizers = nil
		s.delivered("w").ends(payload.Ending{}, c.values...)
		s.deleting()
		if p := Decide(s.Facts); p.Fates[0].Next != StepWait || p.After != c.want {
			t.Errorf("waits for %s: step %d, again after %s, want %s", name, p.Fates[0].Next, p.After, c.want)
		}
	}
}

// A report has a bounded part of the agent's texts, without control characters.
func TestDecide_boundsTheAgentsTexts(t *testing.T) {
	hostile := strings.Repeat("x\x1b\n", 1<<10)
	stays := payload.Ending{Orphan: true, WithoutAutomation: true}
	for name, change := range map[string]func(w *Work){
		"manager": func(w *Work) {
			w.ends(stays, value(contract.FeedbackRequest, "stay-without-automation"), value(contract.FeedbackAutomationOwner, hostile))
		},
		"name": func(w *Work) {
			w.ends(stays, value(contract.FeedbackRequest, "stay-without-automation"), value(contract.FeedbackAutomationOwner, "kubectl"))
			w.Live.Spec.ManifestConfigs[0].ResourceIdentifier.Name = hostile
		},
		"refusal": func(w *Work) {
			w.ends(stays)
			w.Applied = metav1.ConditionFalse
			w.refused(hostile, 0)
		},
	} {
		s := newScene()
		s.annotate(contract.DeletionPolicyAnnotation, "orphan")
		w := s.delivered("w")
		w.May.Bound, s.May.Bound, w.Note.Allowed = false, false, true
		w.missing(NotBound, over)
		change(w)
		p := Decide(s.Facts)
		text := p.Fates[0].Wait.Text
		if len(text) == 0 || len(text) > contract.MaxMessage || strings.Contains(text, "\x1b") {
			t.Errorf("%s: the wait is %d bytes: %.300q", name, len(text), text)
		}
		if p.Report == nil || strings.Contains(p.Report.Refusal.Text, "\x1b") {
			t.Errorf("%s: the report is %.600q", name, fmt.Sprint(p.Report))
		}
	}
}

// markOf returns whether the Application or its ApplicationSet orphans the delivery, also after their
// deletion.
func TestMarkOf(t *testing.T) {
	const app, set, none = payload.ByApplication, payload.BySet, payload.NoMark
	for name, c := range map[string]struct {
		own  string
		set  string // policy of its ApplicationSet, "none" without an ApplicationSet
		gone bool   // the Application is deleted
		ends bool   // the ApplicationSet is deleted
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
		"the set went before its mark came":            {set: "orphan", ends: true, want: set},
		"both went before it":                          {set: "orphan", ends: true, gone: true, want: set},
		"the set left a hold":                          {set: "", ends: true, was: set, want: set},
		"the set left a hold, and had no policy":       {set: "", ends: true, want: none},
		"a value that cannot be followed changes none": {own: "nonsense", set: "none", was: app, want: app},
	} {
		s := newScene()
		if c.own != "" {
			s.annotate(contract.DeletionPolicyAnnotation, c.own)
		}
		var owner *Annotations
		if c.set != "none" {
			owner = &Annotations{Policy: policy.ParseDeletionPolicy(c.set, "", true), Gone: c.ends}
		}
		if c.gone {
			s.Application = nil
		}
		if got := markOf(&s.Facts, owner, c.was); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
