// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// reported is a work as its agent reports of it.
type reported struct{ *workv1.ManifestWork }

func (r reported) applied(is metav1.ConditionStatus, message string) reported {
	r.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: is, ObservedGeneration: r.Generation, Message: message}}
	return r
}

func (r reported) available(is metav1.ConditionStatus, reason string, which ...int) reported {
	for i, c := range r.Spec.ManifestConfigs {
		status, because := metav1.ConditionFalse, notAvailable
		for _, n := range which {
			if n == i {
				status, because = is, reason
			}
		}
		r.Status.ResourceStatus.Manifests = append(r.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
			ResourceMeta: metaOf(c.ResourceIdentifier), Conditions: []metav1.Condition{{Type: workv1.ManifestAvailable, Status: status, Reason: because}},
		})
	}
	return r
}

func metaOf(id workv1.ResourceIdentifier) workv1.ManifestResourceMeta {
	return workv1.ManifestResourceMeta{Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: id.Name}
}

// running is what the agent feeds back of workloads, of the digest that they have.
func (r reported) running(digest string, change func(map[string]int64)) reported {
	for _, c := range r.Spec.ManifestConfigs {
		if len(c.FeedbackRules) == 0 {
			continue
		}
		numbers := map[string]int64{feedbackReady: 1, feedbackUpdated: 1, feedbackReplicas: 1, feedbackObserved: 3, feedbackGeneration: 3}
		if change != nil && c.ResourceIdentifier.Resource == "statefulsets" {
			change(numbers)
		}
		m := workv1.ManifestCondition{ResourceMeta: metaOf(c.ResourceIdentifier)}
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: feedbackDigest, Value: workv1.FieldValue{Type: workv1.String, String: &digest}})
		phase := phaseAvailable
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: feedbackPhase, Value: workv1.FieldValue{Type: workv1.String, String: &phase}})
		for name, n := range numbers {
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &n}})
		}
		r.Status.ResourceStatus.Manifests = append(r.Status.ResourceStatus.Manifests, m)
	}
	return r
}

func TestStateOf(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	w := wanted()
	digest := must(Digest(w))
	look := func() reported { return reported{LookWork(w)} }
	work := func() reported { return reported{must(Work(w, now))} }
	failed := func() reported {
		r := work().applied(no, "x")
		r.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Kind: "Deployment", Namespace: "argocd", Name: "argocd-redis"},
			Conditions:   []metav1.Condition{{Type: workv1.ManifestApplied, Status: no, Message: `conflict with "kubectl"`}},
		}}
		return r
	}
	early := func() reported {
		r := failed()
		r.Status.ResourceStatus.Manifests[0].ResourceMeta.Kind = "AppProject"
		return r
	}
	for name, c := range map[string]struct {
		work    *workv1.ManifestWork
		change  func(*Wanted)
		after   time.Duration
		want    Phase
		message string
	}{
		"no work":                       {nil, nil, 0, PhaseAbsent, ""},
		"no look yet":                   {look().ManifestWork, nil, 0, PhaseLooking, "conditions of"},
		"nothing there":                 {look().applied(yes, "").available(no, notAvailable).ManifestWork, nil, 0, PhaseOutdated, ""},
		"one there":                     {look().applied(yes, "").available(yes, "ResourceAvailable", 0).ManifestWork, nil, 0, PhaseFound, "StatefulSet argocd/argocd-application-controller"},
		"one of OpenShift there":        {look().applied(yes, "").available(yes, "ResourceAvailable", 1).ManifestWork, nil, 0, PhaseFound, "openshift-gitops-application-controller"},
		"one elsewhere with its rights": {look().applied(yes, "").available(yes, "ResourceAvailable", 2).ManifestWork, nil, 0, PhaseFound, "ClusterRoleBinding argocd-application-controller"},
		"one there that is taken over":  {look().applied(yes, "").available(yes, "ResourceAvailable", 0).ManifestWork, func(w *Wanted) { w.TakeOver = true }, 0, PhaseOutdated, ""},
		"the agent may not look":        {look().applied(no, "forbidden").available(unknown, "Error", 2).ManifestWork, nil, 0, PhaseLooking, "forbidden"},
		"it looked at an older one": {reported{func() *workv1.ManifestWork {
			l := look().applied(yes, "").available(no, notAvailable)
			l.Generation++
			return l.ManifestWork
		}()}.ManifestWork, nil, 0, PhaseLooking, ""},
		"not applied yet":                        {work().ManifestWork, nil, 0, PhaseProgressing, "look at its pods"},
		"a conflict":                             {failed().ManifestWork, nil, 0, PhaseFailed, `Deployment argocd/argocd-redis: conflict with "kubectl"; on a conflict, remove the field there, or set spec.argoCD.takeOver`},
		"its own definitions are not served yet": {early().ManifestWork, nil, 0, PhaseProgressing, ""},
		"runs":                                   {work().applied(yes, "").running(digest, nil).ManifestWork, nil, 0, PhaseReady, ""},
		"what ran before runs":                   {work().applied(yes, "").running("older", nil).ManifestWork, nil, 0, PhaseProgressing, ""},
		"no pod is ready":                        {work().applied(yes, "").running(digest, func(n map[string]int64) { n[feedbackReady] = 0 }).ManifestWork, nil, 0, PhaseProgressing, ""},
		"an older pod is ready":                  {work().applied(yes, "").running(digest, func(n map[string]int64) { n[feedbackUpdated] = 0 }).ManifestWork, nil, 0, PhaseProgressing, ""},
		"its controller has not seen it":         {work().applied(yes, "").running(digest, func(n map[string]int64) { n[feedbackObserved] = 2 }).ManifestWork, nil, 0, PhaseProgressing, ""},
		"it never runs":                          {work().applied(yes, "").ManifestWork, nil, progressDeadline + time.Second, PhaseFailed, "look at its pods"},
		"another is wanted":                      {work().applied(yes, "").running(digest, nil).ManifestWork, func(w *Wanted) { w.Image = "example.com/argocd:2" }, 0, PhaseOutdated, ""},
		"another is wanted after failure":        {failed().ManifestWork, func(w *Wanted) { w.Image = "example.com/argocd:2" }, 0, PhaseOutdated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted()
			if c.change != nil {
				c.change(&w)
			}
			got := StateOf(w, c.work, must(Digest(w)), now.Add(c.after))
			if got.Phase != c.want || !strings.Contains(got.Message, c.message) {
				t.Errorf("%s: %s, want %s: …%s…", got.Phase, got.Message, c.want, c.message)
			}
			if c.want == PhaseProgressing && !got.Deadline.Equal(now.Add(progressDeadline)) {
				t.Errorf("it fails at %s", got.Deadline)
			}
		})
	}
}

func TestStateOf_operator(t *testing.T) {
	w := wanted(func(w *Wanted) { w.Install = InstallOperator })
	digest := must(Digest(w))
	r := reported{must(Work(w, now))}.applied(metav1.ConditionTrue, "")
	if got := StateOf(w, r.ManifestWork, digest, now); got.Phase != PhaseProgressing {
		t.Errorf("without the operator's word it is %s", got.Phase)
	}
	if got := StateOf(w, r.running(digest, nil).ManifestWork, digest, now); got.Phase != PhaseReady {
		t.Errorf("it is %s: %s", got.Phase, got.Message)
	}
}

// What was fed back is bounded by its reader, whatever the agent reports.
func TestStateOf_boundsMessages(t *testing.T) {
	r := reported{must(Work(wanted(), now))}.applied(metav1.ConditionFalse, strings.Repeat("x", 1<<20))
	if got := StateOf(wanted(), r.ManifestWork, must(Digest(wanted())), now); got.Phase != PhaseFailed || len(got.Message) > 64<<10 {
		t.Error(fmt.Sprint("a message of ", len(got.Message), " bytes"))
	}
}
