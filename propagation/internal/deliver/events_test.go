// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
)

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
