// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func annotate(t *testing.T, r *rollout.ApplicationSetRollout, word string) {
	t.Helper()
	testkit.Edit(t, hub.client, r, func(r *rollout.ApplicationSetRollout) {
		r.Annotations = map[string]string{rollout.WordAnnotation: word}
	})
}

// A good revision goes from group to group, a bad one stops at the first and is taken back,
// whatever the controller is doing when it is restarted; at rest and at a restart nothing is
// written.
func TestRollout(t *testing.T) {
	writes, stop := start(t)
	again := func() {
		t.Helper()
		stop()
		writes, stop = start(t)
	}
	f := adopted(t, 3)
	again()

	f.healthy(0, "r1")
	s := f.becomes("the second group to have its turn", func(s *rollout.Status) bool { return s.Find(f.clusters[1]) != nil })
	if g := s.Grant(f.clusters[1]); g.Allow != rollout.AllowHub || !slices.Equal(g.Revisions, []string{"r1"}) {
		t.Errorf("the second group may carry %+v", g)
	}
	if g := s.Grant(f.clusters[2]); g.Allow != rollout.AllowCarried || !slices.Equal(g.Revisions, []string{"r0"}) {
		t.Errorf("the third group may carry %+v", g)
	}
	again()
	for i := 1; i < 3; i++ {
		f.becomes("the turn of "+f.clusters[i], func(s *rollout.Status) bool { return s.Find(f.clusters[i]) != nil })
		f.deliver(i, rollout.Carried{Content: rollout.Content(f.app(i)), Revisions: []string{"r1"}})
		f.healthy(i, "r1")
	}
	f.becomes("r1 to be promoted", func(s *rollout.Status) bool { return s.Phase == rollout.Idle && s.Promoted.Revisions[0] == "r1" })

	f.report(0, "r2", argocd.SyncOutOfSync, argocd.HealthHealthy, argocd.OperationFailed)
	s = f.phase(rollout.RollingBack)
	if g := s.Grant(f.clusters[0]); g.Allow != rollout.AllowPromoted || !slices.Equal(g.Revisions, []string{"r1"}) {
		t.Errorf("the first group may carry %+v", g)
	}
	if len(s.Clusters) != 1 {
		t.Errorf("more than the first group had a turn: %+v", s.Clusters)
	}
	again()
	f.deliver(0, rollout.Carried{Content: rollout.Content(f.app(0)), Revisions: []string{"r1"}})
	f.healthy(0, "r1")
	f.phase(rollout.RolledBack)
	stop()
	written := &rollout.ApplicationSetRollout{}
	get := func() string {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(f.rollout), written); err != nil {
			t.Fatal(err)
		}
		return written.ResourceVersion
	}
	version := get()
	writes, stop = start(t)
	f.healthy(2, "r1") // it works on it
	f.healthy(1, "r1")
	testkit.Eventually(t, "a second rollout to be refused", func() error { return refuses(f, "Conflict") })
	if now := get(); now != version {
		t.Errorf("the status was written at rest: %s, then %s, %d writes", version, now, writes.Load())
	}

	// approved, the first group follows the branch again
	annotate(t, f.rollout, "approve 3")
	s = f.phase(rollout.Progressing)
	if s.Candidate.Number != 4 || s.Grant(f.clusters[0]).Revisions != nil {
		t.Errorf("not tried again: %+v", s)
	}
	annotate(t, f.rollout, "abort 4")
	f.becomes("candidate 4 to be taken back", func(s *rollout.Status) bool { return s.Phase == rollout.RollingBack || s.Phase == rollout.RolledBack })

	// without the older rollout the younger one works
	if err := hub.client.Delete(context.Background(), f.rollout); err != nil {
		t.Fatal(err)
	}
	f.rollout = &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "zz-second"}}
	f.becomes("the second rollout to work", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && meta.IsStatusConditionTrue(s.Conditions, readyCondition)
	})
}

// refuses makes a second rollout and returns nil when it is refused for that reason.
func refuses(f *fleet, reason string) error {
	second := f.rollout.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Namespace: f.namespace, Name: "zz-second"}
	second.Status = rollout.Status{}
	if err := hub.client.Create(context.Background(), second); err != nil && !strings.Contains(err.Error(), "already exists") {
		return err
	}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(second), second); err != nil {
		return err
	}
	if c := meta.FindStatusCondition(second.Status.Conditions, readyCondition); c == nil || c.Reason != reason || second.Status.Phase != "" {
		return &json.UnsupportedValueError{Str: second.Status.Message}
	}
	return nil
}

// A cluster that is away has no turn until it is back, and content waits for a turn as a
// revision does.
func TestRollout_clusterAway(t *testing.T) {
	start(t)
	f := adopted(t, 2)
	f.available(f.clusters[1], metav1.ConditionFalse)
	for i := range f.clusters {
		testkit.Edit(t, hub.client, f.app(i), func(a *argocd.Application) {
			a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"one"`, `"two"`, 1))
		})
	}
	f.becomes("the first group to have its turn", func(s *rollout.Status) bool {
		e := s.Find(f.clusters[0])
		return e != nil && slices.Equal(e.Contents, []string{rollout.Content(f.app(0))})
	})
	f.deliver(0, rollout.Carried{Content: rollout.Content(f.app(0))})
	f.healthy(0, "r0")
	f.becomes("the delivery to be seen", func(s *rollout.Status) bool { return s.Find(f.clusters[0]).Compared != "" })
	f.healthy(0, "r0")
	s := f.becomes("the second to be waited for", func(s *rollout.Status) bool {
		e := s.Find(f.clusters[1])
		return e != nil && e.State == rollout.StatePending
	})
	if g := s.Grant(f.clusters[1]); g.Allow != rollout.AllowCarried {
		t.Errorf("a cluster that is away may carry %+v", g)
	}
	f.available(f.clusters[1], metav1.ConditionTrue)
	f.becomes("the second to have its turn", func(s *rollout.Status) bool { return s.Find(f.clusters[1]).State == rollout.StateProgressing })
	f.deliver(1, rollout.Carried{Content: rollout.Content(f.app(1)), Revisions: []string{"r0"}})
	f.healthy(1, "r0")
	f.becomes("the delivery to be seen", func(s *rollout.Status) bool { return s.Find(f.clusters[1]).Compared != "" })
	f.healthy(1, "r0")
	f.phase(rollout.Idle)
	f.add(2)
	f.becomes("a new cluster to get what is promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && s.Grant(f.clusters[2]).Allow == rollout.AllowJoin && slices.Equal(s.Grant(f.clusters[2]).Revisions, []string{"r0"})
	})
	testkit.Edit(t, hub.client, f.app(2), func(a *argocd.Application) {
		a.Annotations[contract.ManagementPolicyAnnotation] = contract.ManagementObserve
	})
	f.becomes("one that is only observed to have no part in it", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && s.Counts.Total == 2 && len(s.Clusters) == 0
	})
}

// An ApplicationSet that is deleted while a candidate is on its way leaves what was promoted.
func TestRollout_setDeleted(t *testing.T) {
	start(t)
	f := adopted(t, 2)
	f.healthy(0, "r1")
	f.becomes("the second group to have its turn", func(s *rollout.Status) bool { return s.Find(f.clusters[1]) != nil })
	for i := range f.clusters { // as the garbage collector and propagation do
		if err := errors.Join(hub.client.Delete(context.Background(), f.app(i)),
			hub.client.Delete(context.Background(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: f.clusters[i], Name: "work"}})); err != nil {
			t.Fatal(err)
		}
	}
	if err := hub.client.Delete(context.Background(), f.set); err != nil {
		t.Fatal(err)
	}
	s := f.becomes("it to be said that there is no ApplicationSet", func(s *rollout.Status) bool {
		c := meta.FindStatusCondition(s.Conditions, readyCondition)
		return c != nil && c.Reason == noSet && s.Counts.Total == 0
	})
	if s.Phase != rollout.Idle || s.Candidate != nil || !slices.Equal(s.Promoted.Revisions, []string{"r0"}) {
		t.Errorf("what is left of it is %+v", s)
	}
}

// What cannot be followed is said with the remedy, and what was held stays held.
func TestRollout_refused(t *testing.T) {
	start(t)
	f := adopted(t, 2)
	ready := func(reason string) {
		t.Helper()
		s := f.becomes("reason "+reason, func(s *rollout.Status) bool {
			c := meta.FindStatusCondition(s.Conditions, readyCondition)
			return c != nil && c.Reason == reason
		})
		if s.Phase != rollout.Idle || s.Promoted == nil {
			t.Errorf("what was held is not: %+v", s)
		}
	}
	testkit.Edit(t, hub.client, f.set, func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "RollingSync", "spec", "strategy", "type")
	})
	ready("RollingSync")
	testkit.Edit(t, hub.client, f.set, func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "strategy") })
	ready("Ready")
	testkit.Edit(t, hub.client, f.rollout, func(r *rollout.ApplicationSetRollout) {
		r.Spec.Strategy.ProgressivePerGroup.ProgressDeadline = "0s"
	})
	ready("InvalidSpec")
	testkit.Edit(t, hub.client, f.rollout, func(r *rollout.ApplicationSetRollout) {
		r.Spec.Strategy.ProgressivePerGroup.ProgressDeadline = "10m"
	})
	ready("Ready")
	annotate(t, f.rollout, "go on")
	ready("InvalidAnnotation")
	annotate(t, f.rollout, "")
	ready("Ready")
	testkit.Edit(t, hub.client, f.app(1), func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"path"`, `"targetRevision":"v2","path"`, 1))
	})
	ready("SourcesDiffer")
}

// From feedback that breaches to the status that lets no further cluster have the change.
func BenchmarkBreach(b *testing.B) {
	start(b)
	var took []time.Duration
	for b.Loop() {
		f := adopted(b, 2)
		begin := time.Now()
		f.report(0, "r1", argocd.SyncOutOfSync, argocd.HealthHealthy, argocd.OperationFailed)
		f.phase(rollout.RollingBack)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
}

// What is kept of an Application says the same when client-go transforms it again.
func TestTrimApplication_twice(t *testing.T) {
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: "app", Labels: map[string]string{contract.PullLabel: "true", "team": "a"},
			Annotations: map[string]string{contract.ClusterAnnotation: "x", contract.RolloutAnnotation: "what a tenant says"},
		},
		Spec: json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example/apps","path":"one"}}`), Status: json.RawMessage(`{}`),
	}
	want := rollout.Content(app)
	for range 2 {
		if _, err := trimApplication(app); err != nil {
			t.Fatal(err)
		}
		if got := app.Annotations[contract.RolloutAnnotation]; got != want {
			t.Errorf("content %s, want %s", got, want)
		}
	}
	if sources, _, err := rollout.Sources(app.Spec); err != nil || sources[0].TargetRevision != "HEAD" || strings.Contains(string(app.Spec), "path") {
		t.Errorf("kept of its spec: %s %v", app.Spec, err)
	}
}
