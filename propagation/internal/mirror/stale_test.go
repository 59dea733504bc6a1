// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func errNot(s *hubStatus) error { return fmt.Errorf("status is %s, %q", s.short(), s.Health.Message) }

// An unavailable cluster makes its Applications Unknown. They recover by themselves when the cluster returns,
// also without a new report.
func TestUnreachable_isShownUntilTheClusterReturns(t *testing.T) {
	f := newFleet(t)
	start(t, Options{CompareGrace: time.Millisecond}, nil)
	cluster, other := f.cluster(), f.cluster()
	app, second, elsewhere := f.app("a", cluster.Name), f.app("b", cluster.Name), f.app("c", other.Name)
	report(t, f.work(app, cluster.Name), healthy...)
	report(t, f.work(second, cluster.Name), healthy...)
	report(t, f.work(elsewhere, other.Name), healthy...)
	const fine = "Healthy/Synced@53e28ff2 Succeeded"
	awaitStatus(t, app, fine)
	awaitStatus(t, second, fine)
	awaitStatus(t, elsewhere, fine)
	version := stored(t, elsewhere).ResourceVersion

	for _, away := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionFalse} {
		available(t, cluster, away)
		s := awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
		awaitStatus(t, second, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
		for _, part := range []string{cluster.Name, "not available since 20", "as the test says", "last report 20", "health Healthy, sync Synced at 53e28ff2, operation Succeeded"} {
			if !strings.Contains(s.Conditions[0].Message, part) {
				t.Errorf("the condition does not say %q: %s", part, s.Conditions[0].Message)
			}
		}
		available(t, cluster, metav1.ConditionTrue)
		awaitStatus(t, app, fine)
		awaitStatus(t, second, fine)
	}

	if err := hub.client.Delete(context.Background(), cluster); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
	if now := stored(t, elsewhere); now.ResourceVersion != version {
		t.Error("an Application on another cluster was written to")
	}
}

// A change that the agent has not applied is shown as Progressing. A change that the agent applies at once is
// never shown as missing.
func TestChange_isProgressingUntilApplied(t *testing.T) {
	f := newFleet(t)
	// No test run reaches this grace period, so only the agent's report ends it.
	writes, stop := start(t, Options{ApplyGrace: time.Hour}, nil)
	cluster := f.cluster().Name
	app, probe := f.app("guestbook", cluster), f.app("probe", cluster)
	work, probeWork := f.work(app, cluster), f.work(probe, cluster)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	awaitStatus(t, probe, "Unknown/Unknown@")
	count := writes.Load()

	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { spec(w, "2") })
	report(t, probeWork, healthy...)
	awaitStatus(t, probe, "Healthy/Synced@53e28ff2 Succeeded")
	report(t, work, healthy...) // applied within the grace
	report(t, probeWork, without(healthy, "healthStatus")...)
	awaitStatus(t, probe, "Unknown/Synced@53e28ff2 Succeeded")
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	if n := writes.Load() - count; n != 2 {
		t.Errorf("%d writes where the probe needs 2: a passing state was written", n)
	}

	stop()
	start(t, Options{ApplyGrace: time.Millisecond}, nil)
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { spec(w, "3") })
	s := awaitStatus(t, app, "Progressing/OutOfSync@53e28ff2 Succeeded")
	if !strings.Contains(s.Health.Message, cluster+" has not reported on the last change yet") {
		t.Errorf("health message is %q", s.Health.Message)
	}
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

	// The removal of an operation from the work is a new generation, but no change.
	version := stored(t, app).ResourceVersion
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) {
		w.Annotations[contract.ChangeGenerationAnnotation] = fmt.Sprint(w.Generation)
		spec(w, "3 without operation")
	})
	report(t, probeWork, healthy...)
	awaitStatus(t, probe, "Healthy/Synced@53e28ff2 Succeeded")
	if stored(t, app).ResourceVersion != version {
		t.Errorf("a new generation alone changed the status: %s", statusOf(t, app).short())
	}
}

// An earlier report does not revert a change that is shown as missing: the agent has applied it,
// and Argo CD has not compared yet. Otherwise the status would be Synced and Succeeded for a
// moment, and a progressive sync would continue with its next step. The same holds if the agent
// could not apply the change at first, and if the cluster was unreachable meanwhile.
func TestChange_isNotRevertedByAnEarlierReport(t *testing.T) {
	const pending = "Progressing/OutOfSync@53e28ff2 Succeeded"
	for name, c := range map[string]struct {
		refused, lost, takeover bool
		before                  bool // the takeover comes before the report from during the outage
	}{
		"at once":                       {},
		"with a takeover":               {takeover: true},
		"after a failed apply":          {refused: true},
		"after a lost cluster":          {lost: true},
		"refused, lost, and a takeover": {refused: true, lost: true, takeover: true},
		"lost, and an early takeover":   {lost: true, before: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			var takenBack, changed atomic.Bool
			watched := patchChecker(func(patch map[string]json.RawMessage, _ string) {
				if changed.Load() && strings.Contains(string(patch["status"]), `"Synced"`) {
					takenBack.Store(true)
				}
			})
			// No test run reaches the second grace period, so only the cluster's report ends it.
			options := Options{ApplyGrace: time.Millisecond, CompareGrace: time.Hour}
			_, stop := start(t, options, watched)
			cluster := f.cluster()
			app := f.app("guestbook", cluster.Name)
			work := f.work(app, cluster.Name)
			report(t, work, healthy...)
			awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

			changed.Store(true)
			testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { spec(w, "2") })
			awaitStatus(t, app, pending)
			if c.refused {
				refused(t, work)
				awaitStatus(t, app, "Unknown/OutOfSync@53e28ff2 Succeeded ApplyFailedError")
			}
			if c.lost {
				available(t, cluster, metav1.ConditionUnknown)
				awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
			}
			applied(t, work)
			if c.lost {
				available(t, cluster, metav1.ConditionTrue)
				if c.before {
					stop()
					start(t, options, watched)
					early := f.app("early", cluster.Name)
					report(t, f.work(early, cluster.Name), "healthStatus", "Missing", "syncStatus", "OutOfSync")
					awaitStatus(t, early, "Missing/OutOfSync@")
				}
				// The cluster's Argo CD has compared the earlier state during the outage.
				report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...)
			}
			if c.takeover {
				stop()
				start(t, options, watched)
			}
			probe := f.app("probe", cluster.Name)
			report(t, f.work(probe, cluster.Name), "healthStatus", "Missing", "syncStatus", "OutOfSync")
			awaitStatus(t, probe, "Missing/OutOfSync@")
			testkit.EditStatus(t, hub.client, work, func(w *workv1.ManifestWork) { // an update without a new report
				meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{Type: workv1.WorkAvailable, Status: metav1.ConditionTrue, Reason: "Test"})
			})
			compared := time.Date(2036, 11, 20, 9, 40, 0, 0, time.UTC)
			testkit.Eventually(t, "the cluster's word on the change", func() error { // a new process may take the first report for the old one
				compared = compared.Add(time.Second)
				report(t, work, "healthStatus", "Missing", "syncStatus", "OutOfSync", "syncRevision", "b", "reconciledAt", compared.Format(time.RFC3339),
					"operationStatePhase", "Succeeded", "operationStateStartedAt", "2036-11-20T09:30:00Z")
				if s := statusOf(t, app); s.short() != "Missing/OutOfSync@b Succeeded" {
					return errNot(s)
				}
				return nil
			})
			if takenBack.Load() {
				t.Error("the Application was Synced between the change and the cluster's word on it")
			}
		})
	}
}

// If Argo CD has nothing to report about a change, the wait for its report ends.
func TestChange_endsItsWaitWithoutAReport(t *testing.T) {
	f := newFleet(t)
	start(t, Options{ApplyGrace: time.Millisecond, CompareGrace: time.Millisecond}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	testkit.Edit(t, hub.client, work, func(w *workv1.ManifestWork) { spec(w, "2") })
	awaitStatus(t, app, "Progressing/OutOfSync@53e28ff2 Succeeded")
	applied(t, work)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}

func factsOf(work types.UID, health string) status.WorkStatus {
	return status.Read(&workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{UID: work, Annotations: map[string]string{contract.HubNameAnnotation: "b"}},
		Status: workv1.ManifestWorkStatus{ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{{
			ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Name: "b"},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{{Name: "healthStatus", Value: workv1.FieldValue{Type: workv1.String, String: &health}}}},
		}}}},
	})
}

// The Application reports a failed apply with the agent's message.
func TestApplyFailure_reportsTheMessageOfTheAgent(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	work := f.work(app, cluster)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	refused(t, work)
	s := awaitStatus(t, app, "Unknown/OutOfSync@53e28ff2 Succeeded ApplyFailedError")
	if !strings.Contains(s.Conditions[0].Message, "Namespace guestbook: Failed to apply manifest: namespaces is forbidden") {
		t.Errorf("condition says %q", s.Conditions[0].Message)
	}
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
}
