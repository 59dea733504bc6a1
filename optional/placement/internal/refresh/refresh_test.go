// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
)

// probe returns a function that waits until earlier events are handled. It waits for a refresh of another
// ApplicationSet, which is requested after any unexpected one.
func probe(t *testing.T, namespace string) (wait func()) {
	t.Helper()
	n := 0
	decide(t, namespace, "probe", "probe-decision-1", "c0")
	newSet(t, namespace, "probe", fmt.Sprintf(byPlacement, "probe"))
	refreshed(t, namespace, "probe")
	return func() {
		t.Helper()
		n++
		decide(t, namespace, "probe", "probe-decision-1", fmt.Sprintf("c%d", n))
		refreshed(t, namespace, "probe")
	}
}

func TestRefresh_followsDecisions(t *testing.T) {
	cases := map[string]struct{ reason, generators string }{
		"plain":    {"a generator", byPlacement},
		"matrix":   {"one in a matrix", "{matrix: {generators: [{git: {repoURL: 'https://git.example.com', revision: main}}, " + byPlacement + "]}}"},
		"merge":    {"one in a merge", "{merge: {mergeKeys: [name], generators: [{clusters: {}}, " + byPlacement + "]}}"},
		"template": {"one whose placement another generator names", "{matrix: {generators: [{list: {elements: [{p: one}]}}, {clusterDecisionResource: {configMapRef: ocm-placement-generator, labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: '{{p}}'}}}}]}}"},
		"named":    {"by name", "{clusterDecisionResource: {configMapRef: ocm-placement-generator, name: one-decision-1}}"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			writes, _ := start(t)
			decide(t, "argocd", "one", "one-decision-1", "c1")
			decide(t, "argocd", "two", "two-decision-1", "c1")
			generators := c.generators
			if name != "named" && name != "template" {
				generators = fmt.Sprintf(c.generators, "one")
			}
			newSet(t, "argocd", "set", generators)
			refreshed(t, "argocd", "set") // the ApplicationSet is newer than the decision
			settled := probe(t, "argocd")
			settled()
			if name == "template" { // it also selects the probe's decisions
				refreshed(t, "argocd", "set")
			}

			decide(t, "argocd", "one", "one-decision-1", "c1", "c2")
			refreshed(t, "argocd", "set")
			decide(t, "argocd", "one", "one-decision-1")
			refreshed(t, "argocd", "set")
			if name == "template" {
				return
			}
			before := writes.Load()
			decide(t, "argocd", "two", "two-decision-1", "c3")
			settled()
			if n := writes.Load() - before; n != 1 || setOf(t, "argocd", "set").Refreshing() {
				t.Errorf("%s: a decision that it does not select refreshes it: %d writes, want the probe's", c.reason, n)
			}
		})
	}
}

// A Placement may have several PlacementDecisions. A change of each one causes a refresh.
func TestRefresh_followsEachOfSeveralDecisions(t *testing.T) {
	start(t)
	decide(t, "argocd", "many", "many-decision-1", "a", "b")
	decide(t, "argocd", "many", "many-decision-2", "c")
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "many"))
	refreshed(t, "argocd", "set")
	settled := probe(t, "argocd")

	decide(t, "argocd", "many", "many-decision-2", "c", "d")
	refreshed(t, "argocd", "set")
	settled()
	undecide(t, "argocd", "many-decision-2")
	refreshed(t, "argocd", "set")

	// Without any decision Argo CD's generator fails, and would not remove the annotation.
	undecide(t, "argocd", "many-decision-1")
	settled()
	if setOf(t, "argocd", "set").Refreshing() {
		t.Error("refreshed without a decision")
	}
	decide(t, "argocd", "many", "many-decision-1", "a")
	refreshed(t, "argocd", "set")
}

// OCM sorts the clusters of a Placement into several decisions, and rewrites them one by one. A cluster that moves to a
// later decision is in none for a while, and Argo CD must not read the decisions then. A cluster that has left is
// removed nevertheless.
func TestRefresh_waitsForOCMsRewrite(t *testing.T) {
	decide(t, "argocd", "many", "many-decision-1", "b", "c")
	decide(t, "argocd", "many", "many-decision-2", "d")
	decide(t, "argocd", "other", "other-decision-1", "c") // which is selected by another Placement as well
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement+", "+byPlacement, "many", "other"))
	at := newStepper(t).at
	at(t, 0, false, "the process has just started")
	at(t, absence-time.Millisecond, false, "a cluster may be absent since before the start")
	at(t, time.Millisecond, true, "the first refresh")

	// A cluster joins. c moves to the second decision, and the API server is slow.
	decide(t, "argocd", "many", "many-decision-1", "a", "b")
	at(t, 0, false, "OCM has written one of two decisions")
	at(t, quiet, false, "and it is quiet for a moment")
	at(t, absence-quiet-time.Millisecond, false, "and the second one takes long")
	decide(t, "argocd", "many", "many-decision-2", "c", "d")
	at(t, 0, false, "OCM has written both decisions")
	at(t, quiet, true, "no cluster is absent any more")

	// The same, while Argo CD still has an earlier refresh to do.
	decide(t, "argocd", "many", "many-decision-2", "c", "d", "x")
	at(t, 0, false, "x has joined")
	at(t, quiet, true, "for x")
	patch(t, hub.client, "argocd", "set", `{"metadata":{"annotations":{"`+appset.RefreshAnnotation+`":"true"}}}`)
	decide(t, "argocd", "many", "many-decision-2", "c", "d", "x", "y")
	at(t, 0, true, "a refresh is running, and Argo CD may make the Application of y")
	decide(t, "argocd", "many", "many-decision-2", "c", "d", "w", "x")
	at(t, 0, false, "w has joined, and y will be in the next decision")
	at(t, quiet, false, "y has an Application")
	at(t, absence-quiet, true, "y was absent long enough to have left")

	// Clusters leave, each for itself, and others join meanwhile.
	decide(t, "argocd", "many", "many-decision-2", "c", "d", "w")
	at(t, 0, false, "x has left")
	decide(t, "argocd", "many", "many-decision-1", "a")
	at(t, absence/2, false, "b moves")
	decide(t, "argocd", "many", "many-decision-2", "b", "c", "d", "w")
	at(t, absence/2-quiet, false, "b is back, and x may come back")
	at(t, quiet, true, "x has left, and the absence of b does not count any more")
}

// OCM creates each decision without clusters. If it creates those of a Placement again, their clusters follow.
func TestRefresh_waitsForTheClustersOfANewDecision(t *testing.T) {
	decide(t, "argocd", "p", "p-decision-1", "a", "b")
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "p"))
	at := newStepper(t).at
	at(t, 0, false, "the process has just started")
	at(t, absence, true, "the first refresh")
	undecide(t, "argocd", "p-decision-1")
	at(t, 0, false, "no decision exists")
	decide(t, "argocd", "p", "p-decision-1")
	at(t, time.Hour, false, "the Placement is re-created")
	at(t, absence-time.Millisecond, false, "its decision has no clusters yet")
	decide(t, "argocd", "p", "p-decision-1", "a", "b")
	at(t, 0, false, "its clusters are the same")
	at(t, quiet, true, "no cluster is absent any more")
}

// Clusters may leave one after the other for a long time, for example during an outage. Clusters that join meanwhile
// get their Applications nevertheless.
func TestRefresh_comesWhileClustersKeepLeaving(t *testing.T) {
	const interval = 5 * time.Second
	decide(t, "argocd", "p", "p-decision-1", names(20)...)
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "p"))
	s := newStepper(t)
	s.at(t, 0, false, "the process has just started")
	s.at(t, absence, true, "the first refresh")

	left, began := 0, s.clock
	leave := func() (requested bool, again time.Duration) {
		left++
		decide(t, "argocd", "p", "p-decision-1", names(20 + left)[left:]...)
		return s.handle(t, 0)
	}
	requested, again := leave()
	for next := began.Add(interval); !requested; {
		if s.clock.Sub(began) > most {
			t.Fatalf("no refresh for %s, while a cluster leaves every %s", s.clock.Sub(began), interval)
		}
		if until := next.Sub(s.clock); until < again {
			s.clock, next = next, next.Add(interval)
			requested, again = leave()
		} else {
			requested, again = s.handle(t, again)
		}
	}
	if waited := s.clock.Sub(began); waited < most-absence {
		t.Errorf("a refresh after %s, want OCM to have %s for a rewrite", waited, absence)
	}
	if len(s.logged) != 1 || !strings.Contains(s.logged[0], "keep leaving") {
		t.Errorf("it logs %q, want one line", s.logged)
	}

	// The next cluster that leaves may only have moved.
	if requested, _ := leave(); requested {
		t.Error("a refresh as soon as another cluster left")
	}
	s.at(t, absence-time.Millisecond, false, "it may be back")
	s.at(t, time.Millisecond, true, "it left")
	if len(s.logged) != 1 {
		t.Errorf("it logs %q", s.logged[1:])
	}
}

// The decisions of an ApplicationSet may be those of its last refresh again, if its selector is changed and changed
// back. The next change is a new one.
func TestRefresh_waitsAfterAChangeThatWasReverted(t *testing.T) {
	decide(t, "argocd", "many", "many-decision-1", "a", "b")
	decide(t, "argocd", "many", "many-decision-2", "c")
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "many"))
	at := newStepper(t).at
	at(t, 0, false, "the process has just started")
	at(t, absence, true, "the first refresh")
	generate := func(by string) {
		t.Helper()
		patch(t, hub.client, "argocd", "set", `{"spec":{"generators":[{"clusterDecisionResource":{"configMapRef":"ocm-placement-generator",`+by+`}}]}}`)
	}
	generate(`"name":"many-decision-2"`)
	at(t, 0, false, "the clusters of the first decision are absent")
	generate(`"labelSelector":{"matchLabels":{"cluster.open-cluster-management.io/placement":"many"}}`)
	at(t, 0, false, "the decisions of the last refresh")

	decide(t, "argocd", "many", "many-decision-1", "0", "a")
	at(t, time.Hour, false, "b moves")
	at(t, absence-time.Millisecond, false, "the second decision takes long")
	decide(t, "argocd", "many", "many-decision-2", "b", "c")
	at(t, 0, false, "b is back")
	at(t, quiet, true, "no cluster is absent any more")
}

// Which clusters have an Application is unknown before the first decisions, at whatever time these are observed.
func TestRefresh_waitsForTheClustersOfTheFirstDecision(t *testing.T) {
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "p"))
	at := newStepper(t).at
	at(t, 0, false, "the hub is restored, and OCM has not written its decisions yet")
	decide(t, "argocd", "p", "p-decision-1")
	at(t, time.Hour, false, "OCM creates a decision")
	at(t, quiet, false, "its clusters are unknown")
	decide(t, "argocd", "p", "p-decision-1", "a", "b")
	at(t, absence-quiet-time.Millisecond, false, "further decisions may follow")
	at(t, time.Millisecond, true, "the first refresh")

	// A selector is not readable for a while.
	patch(t, hub.client, "argocd", "set", `{"spec":{"generators":[{"clusterDecisionResource":{"configMapRef":"ocm-placement-generator"}}]}}`)
	at(t, time.Hour, false, "it selects nothing")
	decide(t, "argocd", "p", "p-decision-1", "a")
	patch(t, hub.client, "argocd", "set", `{"spec":{"generators":[{"clusterDecisionResource":{"configMapRef":"ocm-placement-generator","name":"p-decision-1"}}]}}`)
	at(t, time.Hour, false, "b may be absent")
	at(t, quiet, false, "though nothing changes")
	at(t, absence-quiet, true, "its first refresh")
}

// A running refresh may have missed a change. placement requests another refresh when the running one is
// done, however long that takes.
func TestRefresh_repeatsAfterAChangeWhileRunning(t *testing.T) {
	writes, stop := start(t)
	decide(t, "argocd", "p", "p-decision-1", "a")
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "p"))
	refreshed(t, "argocd", "set")
	settled := probe(t, "argocd")

	patch(t, hub.client, "argocd", "set", `{"metadata":{"annotations":{"`+appset.RefreshAnnotation+`":"webhook"}}}`) // of another client
	before := writes.Load()
	for i := range 3 {
		decide(t, "argocd", "p", "p-decision-1", "a", fmt.Sprint(i))
		settled()
	}
	decide(t, "argocd", "p", "p-decision-1", "a") // back to the first state, but the refresh may have read the state in between
	settled()
	if n := writes.Load() - before; n != 4 {
		t.Errorf("%d writes while a refresh is there, want the probe's 4", n)
	}
	release(t, "argocd", "set")
	refreshed(t, "argocd", "set")
	settled()
	if setOf(t, "argocd", "set").Refreshing() {
		t.Error("refreshed twice for one change")
	}

	// The same holds if the decision changes while the process does not run.
	stop()
	decide(t, "argocd", "p", "p-decision-1", "b")
	start(t)
	refreshed(t, "argocd", "set")
}

// A decision may have a cluster that is not registered with Argo CD yet. Registration of that cluster
// causes a refresh.
func TestRefresh_followsTheRegistrationOfACluster(t *testing.T) {
	start(t)
	decide(t, "argocd", "p", "p-decision-1", "late")
	newSet(t, "argocd", "set", fmt.Sprintf(byPlacement, "p"))
	refreshed(t, "argocd", "set")
	settled := probe(t, "argocd")
	register(t, "argocd", "other")
	settled()
	if setOf(t, "argocd", "set").Refreshing() {
		t.Error("refreshed for a cluster that it does not select")
	}
	register(t, "argocd", "late")
	refreshed(t, "argocd", "set")
}

// Generators read decisions in Argo CD's namespace, for an ApplicationSet in any namespace. They read only
// the kind that the ConfigMap there names.
func TestRefresh_readsArgoCDsNamespace(t *testing.T) {
	decide(t, "argocd", "p", "p-decision-1", "a")
	decide(t, "team", "p", "p-decision-1", "a")
	decide(t, "second", "p", "p-decision-1", "a")
	newSet(t, "team", "anywhere", fmt.Sprintf(byPlacement, "p"))
	newSet(t, "second", "second", fmt.Sprintf(byPlacement, "p"))
	newSet(t, "argocd", "other-kind", "{clusterDecisionResource: {configMapRef: other, labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: p}}}}")
	create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "other"}, Data: map[string]string{"apiVersion": "apps.open-cluster-management.io/v1", "kind": "placementrules"}})
	bind(t, "second")
	start(t, "argocd", "second")
	refreshed(t, "team", "anywhere")
	settled := probe(t, "argocd")

	decide(t, "team", "p", "p-decision-1", "b")
	settled()
	if setOf(t, "team", "anywhere").Refreshing() {
		t.Error("refreshed for decisions that no generator reads")
	}
	decide(t, "argocd", "p", "p-decision-1", "b")
	refreshed(t, "team", "anywhere")
	settled()
	if setOf(t, "second", "second").Refreshing() || setOf(t, "argocd", "other-kind").Refreshing() {
		t.Error("refreshed without a ConfigMap that names PlacementDecisions")
	}
	create(t, generatorConfig("second")) // now the generator works
	refreshed(t, "second", "second")
}

// Changes that do not matter cause no write.
func TestRefresh_writesNothingAtRest(t *testing.T) {
	writes, _ := start(t)
	for i := range 5 {
		decide(t, "argocd", fmt.Sprint("p", i), fmt.Sprintf("p%d-decision-1", i), "a")
		newSet(t, "argocd", fmt.Sprint("set", i), fmt.Sprintf(byPlacement, fmt.Sprint("p", i)))
		refreshed(t, "argocd", fmt.Sprint("set", i))
	}
	settled := probe(t, "argocd")
	before := writes.Load()
	for i := range 5 { // a change of labels, and a decision without a change
		patch(t, hub.client, "argocd", fmt.Sprint("set", i), `{"metadata":{"labels":{"x":"z"}}}`)
		decide(t, "argocd", fmt.Sprint("p", i), fmt.Sprintf("p%d-decision-1", i), "a")
	}
	settled()
	if n := writes.Load() - before; n != 1 {
		t.Errorf("%d writes, want the probe's one", n)
	}
}
