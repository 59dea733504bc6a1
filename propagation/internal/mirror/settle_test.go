// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("decode: %v", err)
	}
}

// without returns feedback without some names.
func without(pairs []string, names ...string) []string {
	var left []string
	for i := 0; i < len(pairs); i += 2 {
		if !slices.Contains(names, pairs[i]) {
			left = append(left, pairs[i], pairs[i+1])
		}
	}
	return left
}

// Argo CD clears the operation state for some 70 ms when the next operation starts, and the revision when it
// cannot compare. The hub never shows these gaps.
func TestStatus_fillsTransientGaps(t *testing.T) {
	f := newFleet(t)
	writes, _ := start(t, Options{}, nil)
	cluster := f.cluster().Name
	app, probe := f.app("guestbook", cluster), f.app("probe", cluster)
	work, probeWork := f.work(app, cluster), f.work(probe, cluster)
	report(t, work, healthy...)
	report(t, probeWork, healthy...)
	awaitStatus(t, probe, "Healthy/Synced@53e28ff2 Succeeded")
	before := awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	version, count := stored(t, app).ResourceVersion, writes.Load()

	report(t, work, without(healthy, "operationStatePhase", "operationStateStartedAt", "operationStateFinishedAt", "operationStateMessage")...)
	report(t, probeWork, "healthStatus", "Degraded", "syncStatus", "Synced", "syncRevision", "53e28ff2")
	after := awaitStatus(t, probe, "Degraded/Synced@53e28ff2 Succeeded")
	if after.OperationState.FinishedAt != before.OperationState.FinishedAt {
		t.Errorf("operation changed: %+v", after.OperationState)
	}
	if now := stored(t, app); now.ResourceVersion != version || writes.Load() != count+1 {
		t.Errorf("the missing operation was written down, %d writes", writes.Load()-count)
	}

	report(t, work, "healthStatus", "Healthy", "syncStatus", "Unknown", "syncRevision", "", "operationStatePhase", "Succeeded",
		"operationStateStartedAt", "2036-11-20T09:30:00Z", "conditionComparisonError", "app path does not exist")
	s := awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ComparisonError")
	if s.Health.Message != "Argo CD could not compare it with its source; health before that: Healthy" {
		t.Errorf("health message is %q", s.Health.Message)
	}
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

// The managed cluster's clock may be wrong by years. A value that is missing for a moment stays on the hub.
// The operation of the former cluster is removed, even if propagation was down during the move.
func TestStatus_ignoresTheClockOfTheCluster(t *testing.T) {
	for clock, started := range map[string]string{"behind": "2006-01-02T15:04:05Z", "ahead": "2096-01-02T15:04:05Z"} {
		t.Run(clock, func(t *testing.T) {
			f := newFleet(t)
			_, stop := start(t, Options{}, nil)
			from, to := f.cluster().Name, f.cluster().Name
			app := f.app("guestbook", from)
			old := f.work(app, from)
			report(t, old, "healthStatus", "Healthy", "syncStatus", "Synced", "syncRevision", "a", "operationStatePhase", "Succeeded", "operationStateStartedAt", started)
			awaitStatus(t, app, "Healthy/Synced@a Succeeded")
			report(t, old, "healthStatus", "Progressing", "syncStatus", "Synced", "syncRevision", "b")
			if s := awaitStatus(t, app, "Progressing/Synced@b Succeeded"); s.OperationState.StartedAt != started {
				t.Errorf("operation is %+v", s.OperationState)
			}

			stop()
			testkit.Edit(t, hub.client, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = to })
			next := f.work(app, to)
			report(t, next, "healthStatus", "Missing", "syncStatus", "OutOfSync", "syncRevision", "b")
			start(t, Options{}, nil)
			awaitStatus(t, app, "Missing/OutOfSync@b")
		})
	}
}

// After a user terminates an operation on the hub, the status shows Terminating until the managed cluster
// reports the end. The next operation inherits nothing, however many results the status has from a time
// when another program managed the Application.
func TestOperation_showsTerminatingUntilItsEnd(t *testing.T) {
	for name, results := range map[string]int{"few results": 1, "many results": 30} {
		t.Run(name, func(t *testing.T) { showsTerminatingUntilItsEnd(t, results) })
	}
}

func showsTerminatingUntilItsEnd(t *testing.T, results int) {
	t.Helper()
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	running := []string{"healthStatus", "Progressing", "syncStatus", "OutOfSync", "syncRevision", "a", "operationStatePhase", "Running", "operationStateStartedAt", "2036-11-20T09:30:00Z"}
	report(t, work, running...)
	awaitStatus(t, app, "Progressing/OutOfSync@a Running")
	const result = `{"group":"apps","kind":"Deployment","message":"former","name":"web","namespace":"guestbook","status":"SyncFailed","version":"v1"}`
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		a.Status = []byte(`{"health":{"status":"Progressing"},"sync":{"status":"OutOfSync","revision":"a"},
			"operationState":{"operation":{"sync":{"revision":"a"},"initiatedBy":{"username":"admin"}},"phase":"Terminating","retryCount":2,
			"startedAt":"2036-11-20T09:30:00Z","syncResult":{"revision":"a","source":{"repoURL":"https://git.example.com/apps.git"},"resources":[` +
			strings.Repeat(result+",", results-1) + result + `]}}}`)
	})
	report(t, work, append(running, "healthMessage", "waiting")...)
	testkit.Eventually(t, "the health message", func() error {
		if s := statusOf(t, app); s.Health.Message != "waiting" {
			return errNot(s)
		}
		return nil
	})
	awaitStatus(t, app, "Progressing/OutOfSync@a Terminating")
	report(t, work, "healthStatus", "Degraded", "syncStatus", "OutOfSync", "syncRevision", "a", "operationStatePhase", "Failed",
		"operationStateStartedAt", "2036-11-20T09:30:00Z", "operationStateFinishedAt", "2036-11-20T09:40:00Z", "operationStateMessage", "Operation terminated")
	awaitStatus(t, app, "Degraded/OutOfSync@a Failed")

	// The next operation inherits nothing from the last one.
	report(t, work, "healthStatus", "Degraded", "syncStatus", "OutOfSync", "syncRevision", "a", "operationStatePhase", "Running", "operationStateStartedAt", "2036-11-20T10:00:00Z",
		contract.FeedbackOperationRevision, "b")
	awaitStatus(t, app, "Degraded/OutOfSync@a Running")
	var state struct{ OperationState map[string]any }
	decode(t, stored(t, app).Status, &state)
	want := map[string]any{
		"operation": map[string]any{"initiatedBy": map[string]any{"automated": true}, "sync": map[string]any{}}, "phase": "Running", "startedAt": "2036-11-20T10:00:00Z",
		"syncResult": map[string]any{"revision": "b"},
	}
	if diff := cmp.Diff(want, state.OperationState); diff != "" {
		t.Errorf("something of the operation before stayed (-want +got):\n%s", diff)
	}
}

// A new Application gets one write, with its cluster's first report, and none before that. A wrong existing
// status is corrected at once.
func TestFirstStatus_isTheClusters(t *testing.T) {
	f := newFleet(t)
	// No test run reaches this timeout, so only the agent's report ends the wait.
	writes, stop := start(t, Options{InitialStatusTimeout: time.Hour}, nil)
	cluster := f.cluster().Name
	app, probe := f.app("guestbook", cluster), f.app("probe", cluster)
	work, probeWork := f.work(app, cluster), f.work(probe, cluster)
	report(t, probeWork, healthy...)
	awaitStatus(t, probe, "Healthy/Synced@53e28ff2 Succeeded")
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes where the probe needs 1: something was said about the silent one", n)
	}
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

	wrong := f.app("wrong", cluster)
	testkit.Edit(t, hub.client, wrong, func(a *argocd.Application) { a.Status = []byte(`{"health":{"status":"Healthy"}}`) })
	awaitStatus(t, wrong, "Unknown/Unknown@")

	stop()
	late := f.app("late", cluster)
	start(t, Options{InitialStatusTimeout: time.Millisecond}, nil)
	awaitStatus(t, late, "Unknown/Unknown@")
}

// While a large fleet is being delivered, its Applications are not shown as Unknown, because these writes
// would delay the delivery. The last silent ones are shown as Unknown once the others have reported.
func TestFirstStatus_waitsForALargeFleet(t *testing.T) {
	const others = 3000
	begun := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		after   time.Duration
		spoken  int // of the others
		waiting bool
	}{
		"at first":                     {waiting: true},
		"while many wait":              {after: 80 * time.Second, waiting: true},
		"while some wait":              {after: 80 * time.Second, spoken: 500, waiting: true},
		"when few wait":                {after: 80 * time.Second, spoken: 1500},
		"when nobody else waits":       {after: time.Minute + time.Second, spoken: others},
		"but not for ever":             {after: time.Minute + others*initialStatusOfEach + time.Second},
		"nor less than it would alone": {after: time.Minute - time.Second, spoken: others, waiting: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := begun
			r := &Reconciler{options: Options{InitialStatusTimeout: time.Minute}, now: func() time.Time { return now }}
			pending, reported := facts{initial: true}, facts{}
			app := func(i int) types.NamespacedName {
				return types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}
			}
			silent := app(others)
			for i := range others + 1 {
				if wait := r.delay(app(i), pending); wait != time.Minute {
					t.Fatalf("at first it waits for %s", wait)
				}
			}
			now = begun.Add(c.after)
			for i := range c.spoken {
				r.delay(app(i), reported)
			}
			wait := r.delay(silent, pending)
			if (wait > 0) != c.waiting || wait > time.Minute {
				t.Errorf("after %s, with %d of %d others waiting, it waits for %s", c.after, others-c.spoken, others, wait)
			}
		})
	}
}
