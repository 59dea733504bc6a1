// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestConditions(t *testing.T) {
	type conditions = []v1alpha1.Condition
	const reason = `error validating data: unknown field "spec.x"`
	failed := App{Health: "Missing", Sync: "OutOfSync", OperationPhase: "Failed"}
	healthy := App{Reported: true, Health: "Healthy", Sync: "Synced", OperationPhase: "Succeeded"}
	reported := App{Reported: true, Health: "Degraded", Sync: "Synced", OperationPhase: "Failed"}
	with := func(a App, c ...v1alpha1.Condition) App { a.Conditions = c; return a }
	message := func(a App, m string) App { a.OperationMessage = m; return a }

	for name, test := range map[string]struct {
		why    string
		app    App
		search conditions
		want   conditions
	}{
		"nothing": {
			why: "an Application without trouble has no conditions at all",
			app: healthy,
		},
		"feedback alone": {
			why:  "without search an error is seen all the same, sorted by type",
			app:  with(failed, v1alpha1.Condition{Type: "SyncError", Message: "s"}, v1alpha1.Condition{Type: "ComparisonError", Message: "c"}),
			want: conditions{{Type: "ComparisonError", Message: "c"}, {Type: "SyncError", Message: "s"}},
		},
		"search alone": {
			why:    "an agent that reports nothing is helped out by search",
			app:    failed,
			search: conditions{{Type: "SyncError", Message: "s"}},
			want:   conditions{{Type: "SyncError", Message: "s"}},
		},
		"both say it": {
			why:    "search cuts at 512 characters what feedback has in full: one of them is enough",
			app:    with(failed, v1alpha1.Condition{Type: "SyncError", Message: "a long story"}),
			search: conditions{{Type: "SyncError", Message: "a long..."}},
			want:   conditions{{Type: "SyncError", Message: "a long story"}},
		},
		"both say something": {
			why:    "what only search can know is kept",
			app:    with(reported, v1alpha1.Condition{Type: "SyncError", Message: "s"}),
			search: conditions{{Type: "NewKindOfError", Message: "o"}},
			want:   conditions{{Type: "NewKindOfError", Message: "o"}, {Type: "SyncError", Message: "s"}},
		},
		"search repeats itself": {
			why:    "an odd intermediate report does not make double conditions",
			app:    failed,
			search: conditions{{Type: "SyncError", Message: "s"}, {Type: "SyncError", Message: "s"}},
			want:   conditions{{Type: "SyncError", Message: "s"}},
		},
		"operation message": {
			why:  "a sync by hand that failed leaves no condition, only the operation's message",
			app:  message(failed, reason),
			want: conditions{{Type: "OperationError", Message: reason}},
		},
		"operation message repeated": {
			why:  "Argo CD copies the operation's message into SyncError",
			app:  message(with(failed, v1alpha1.Condition{Type: "SyncError", Message: "Failed sync attempt to 53e: one or more objects failed, reason: " + reason + " (retried 5 times)."}), "one or more objects failed, reason: "+reason+" (retried 5 times)."),
			want: conditions{{Type: "SyncError", Message: "Failed sync attempt to 53e: one or more objects failed, reason: " + reason + " (retried 5 times)."}},
		},
		"operation error cut": {
			why:    "search cuts the end of the operation's message; its beginning still repeats",
			app:    with(failed, v1alpha1.Condition{Type: "SyncError", Message: "Failed sync attempt: reason: " + reason}),
			search: conditions{{Type: "OperationError", Message: "one or more, reason: error validating data..."}},
			want:   conditions{{Type: "SyncError", Message: "Failed sync attempt: reason: " + reason}},
		},
		"sync error cut": {
			why:    "search cuts SyncError, which is longer, earlier in the reason than OperationError",
			app:    failed,
			search: conditions{{Type: "OperationError", Message: "reason: " + reason}, {Type: "SyncError", Message: "Failed sync attempt: reason: error validating..."}},
			want:   conditions{{Type: "SyncError", Message: "Failed sync attempt: reason: error validating..."}},
		},
		"another operation error": {
			why:    "an operation error that says something else stays",
			app:    with(failed, v1alpha1.Condition{Type: "SyncError", Message: "Failed sync attempt: reason: quota"}),
			search: conditions{{Type: "OperationError", Message: reason}},
			want:   conditions{{Type: "OperationError", Message: reason}, {Type: "SyncError", Message: "Failed sync attempt: reason: quota"}},
		},
		"operation running": {
			why: "the message of a running operation is progress, not an error",
			app: message(App{Health: "Progressing", Sync: "OutOfSync", OperationPhase: "Running"}, "waiting for completion of hook"),
		},
		"operation failed, healthy since": {
			why: "an old failure is history once the Application is healthy and synced",
			app: message(App{Health: "Healthy", Sync: "Synced", OperationPhase: "Failed"}, reason),
		},
		"search is late": {
			why:    "feedback already says healthy and synced: search's errors are ten seconds old, and what it alone knows may still hold",
			app:    healthy,
			search: conditions{{Type: "SyncError", Message: "s"}, {Type: "OperationError", Message: "o"}, {Type: "NewKindOfWarning", Message: "w"}},
			want:   conditions{{Type: "NewKindOfWarning", Message: "w"}},
		},
		"search is late about errors": {
			why: "feedback does not have them any more, however the Application fares",
			app: reported,
			search: func() (all conditions) {
				for _, t := range contract.ConditionTypes {
					all = append(all, v1alpha1.Condition{Type: t, Message: "old"})
				}
				return all
			}(),
		},
		"operation succeeded, not healthy": {
			why:    "an operation error cannot stand beside an operation that succeeded",
			app:    App{Health: "Degraded", Sync: "Synced", OperationPhase: "Succeeded"},
			search: conditions{{Type: "OperationError", Message: "o"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := append(conditions(nil), test.app.Conditions...)
			got := NewRow(test.app, Search{Conditions: test.search}).Conditions
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s:\n%s", test.why, diff)
			}
			if diff := cmp.Diff(given, append(conditions(nil), test.app.Conditions...)); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
		})
	}
}
