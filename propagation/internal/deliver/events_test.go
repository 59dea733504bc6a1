// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// The Event of an abandoned Application names the ManifestWorks that it leaves, and since when their clusters are
// unreachable.
func TestApply_recordsSinceWhenAClusterIsUnreachable(t *testing.T) {
	for step, reason := range map[decide.Step]string{decide.StepWait: "OrphanPending", decide.StepDelete: "Abandoned"} {
		recorder := events.NewFakeRecorder(10)
		a, p := endingOn(t, &refusing{}, step, decide.Abandoned)
		a.reporter.events = recorder
		p.works[0].Cluster.State = status.Cluster{Exists: true, Since: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
		p.works[1].Cluster.State = status.Cluster{Exists: true, Available: true, Since: time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)}
		if err := a.apply(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		close(recorder.Events)
		const left = ": cluster1/a (unreachable since 2026-11-20T10:00:00Z), cluster1/b"
		if event := <-recorder.Events; !strings.HasPrefix(event, "Warning "+reason+" released before") || !strings.HasSuffix(event, left) {
			t.Errorf("the Event is %q, want %s and %q", event, reason, left)
		}
	}
}

// The API server rejects an Event with a note of more than 1,024 bytes, and the client drops the Event.
func TestEvents_haveBoundedNotes(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	r, _ := newReconciler(clients{}, recorder)
	app := settled(t).app
	r.applier.reporter.recordWarning(app, policy.Message{Reason: policy.ReasonRefused, Text: "the agent reports: " + strings.Repeat("ü%s", 400)})
	r.applier.reporter.recordOn(&corev1.ObjectReference{}, policy.Message{Reason: policy.ReasonRefused, Text: "a\x1bb"})
	close(recorder.Events)
	const short = "Warning Refused a b"
	note := strings.TrimPrefix(<-recorder.Events, "Warning Refused ")
	if len(note) > 1024 || len(note) < 1000 || !utf8.ValidString(note) || !strings.HasPrefix(note, "the agent reports: ü%sü%s") {
		t.Errorf("the note has %d bytes: %s", len(note), note)
	}
	if event := <-recorder.Events; event != short {
		t.Errorf("the Event is %q, want %q", event, short)
	}
}
