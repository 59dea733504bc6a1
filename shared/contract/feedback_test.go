// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"
)

func str(name, value string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
}

func raw(name, value string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.JsonRaw, JsonRaw: &value}}
}

func TestParseFeedback(t *testing.T) {
	number, yes := int64(7), true
	cases := map[string]struct {
		reason string
		values []workv1.FeedbackValue
		want   Feedback
		silent bool
	}{
		"none": {reason: "no values: nothing was said", silent: true},
		"all": {
			reason: "every name has its field",
			values: []workv1.FeedbackValue{
				str("healthStatus", "Healthy"), str("healthMessage", "hm"), str("syncStatus", "Synced"), str("syncRevision", "r"),
				str("operationStatePhase", "Failed"), str("operationStateStartedAt", "2026-11-20T09:30:00Z"), str("operationStateFinishedAt", "2026-11-20T09:31:00Z"),
				str("operationStateMessage", "om"), str("reconciledAt", "2026-11-20T09:32:00Z"), str("conditionSyncError", "se"),
			},
			want: Feedback{
				Health: "Healthy", HealthMessage: "hm", Sync: "Synced", Revision: "r", ReconciledAt: "2026-11-20T09:32:00Z",
				Operation:  OperationFeedback{Phase: "Failed", StartedAt: "2026-11-20T09:30:00Z", FinishedAt: "2026-11-20T09:31:00Z", Message: "om"},
				Conditions: []Condition{{Type: "SyncError", Message: "se"}},
			},
		},
		"order": {
			reason: "conditions come in one order, whatever the agent's",
			values: []workv1.FeedbackValue{str("conditionSharedResourceWarning", "w"), str("conditionSyncError", "s"), str("conditionComparisonError", "c")},
			want: Feedback{Conditions: []Condition{
				{Type: "ComparisonError", Message: "c"}, {Type: "SyncError", Message: "s"}, {Type: "SharedResourceWarning", Message: "w"},
			}},
		},
		"otherTypes": {
			reason: "a value that is no text is not what we asked for",
			values: []workv1.FeedbackValue{
				{Name: "healthStatus", Value: workv1.FieldValue{Type: workv1.Integer, Integer: &number}},
				{Name: "syncStatus", Value: workv1.FieldValue{Type: workv1.Boolean, Boolean: &yes}},
				{Name: "syncRevision"},
			},
			silent: true,
		},
		"list": {
			reason: "of a list of texts the first counts; other JSON is ignored",
			values: []workv1.FeedbackValue{
				raw("conditionSyncError", `["one","two"]`), raw("conditionUnknownError", `[]`), raw("conditionDeletionError", `{"a":1}`), raw("healthStatus", `[`),
			},
			want: Feedback{Conditions: []Condition{{Type: "SyncError", Message: "one"}}},
		},
		"unknown": {
			reason: "names and condition types of another version are ignored",
			values: []workv1.FeedbackValue{str("syncStatus", "Synced"), str("somethingNew", "x"), str("conditionFutureError", "x"), str("condition", "x"), str("conditionSyncError", "")},
			want:   Feedback{Sync: "Synced"},
		},
		"request": {
			reason: "what is said of a request says nothing of the status",
			values: []workv1.FeedbackValue{str("request", "1"), str("operationOwner", "argocd"), str("refresh", "normal")}, silent: true,
		},
		"revisions": {
			reason: "those of several sources have their place, whatever the order in which they are reported, and whatever is missing",
			values: []workv1.FeedbackValue{
				str("syncRevisions2", "c"), str("syncRevisions0", "a"), str("syncRevisions8", "i"), str("operationStateSyncRevisions0", "x"), str("operationStateSyncRevision", "y"),
			},
			want: Feedback{Revisions: []string{"a", "", "c"}, OperationRevisions: []string{"x"}, OperationRevision: "y"},
		},
		"resources": {
			reason: "the gravest problem first; one without kind or name names no resource",
			values: []workv1.FeedbackValue{
				str("resourceOutOfSyncName", "a"), str("resourceOutOfSyncKind", "ConfigMap"), str("resourceHookFailedName", "b"), str("resourceHookFailedMessage", "m"),
				str("resourceDegradedKind", "Deployment"), str("resourceDegradedName", "c"), str("resourceDegradedMessage", "m"),
				str("resourceSyncFailedKind", "Service"), str("resourceSyncFailedName", "d"),
			},
			want: Feedback{Resources: []Resource{{ResourceSyncFailed, "Service", "d", ""}, {ResourceDegraded, "Deployment", "c", "m"}, {ResourceOutOfSync, "ConfigMap", "a", ""}}},
		},
		"twice": {
			reason: "a name that is there twice is no second condition",
			values: []workv1.FeedbackValue{str("conditionSyncError", "one"), str("conditionSyncError", "two")},
			want:   Feedback{Conditions: []Condition{{Type: "SyncError", Message: "one"}}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseFeedback(c.values)
			if ok == c.silent {
				t.Errorf("%s: ok is %t", c.reason, ok)
			}
			if diff := cmp.Diff(c.want, got, cmp.Transformer("emptyIsNil", func(in []Condition) []Condition {
				if len(in) == 0 {
					return nil
				}
				return slices.Clone(in)
			})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// The CRD of a ManifestWork stores feedback as a map by name, so each name must be unique.
func TestFeedbackPaths_areDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range FeedbackPaths(100) {
		if seen[p.Name] || seen[p.Path] {
			t.Errorf("%s, %s is there twice", p.Name, p.Path)
		}
		seen[p.Name], seen[p.Path] = true, true
		if !strings.HasPrefix(p.Path, ".status.") {
			t.Errorf("%s leads out of the status: %s", p.Name, p.Path)
		}
	}
	all := append(append(append(FeedbackPaths(100), RequestPaths()...), ObservedPaths()...), EndingPaths()...)
	if len(all) > MaxValues || len(feedback) > 64 {
		t.Errorf("%d values are asked for and %d looked at; of %d names each has a bit", len(all), MaxValues, len(feedback))
	}
	for sources, want := range map[int]int{0: 0, 1: 2, 3: 6, MaxSources: 16, 100: 16} {
		if got := len(FeedbackPaths(sources)) - len(FeedbackPaths(0)); got != want {
			t.Errorf("%d sources add %d paths, want %d", sources, got, want)
		}
	}
}

func TestAutomationOwner(t *testing.T) {
	const request = "end-without-automation"
	for name, c := range map[string]struct {
		reason string
		values []workv1.FeedbackValue
		owner  string
	}{
		"none":    {reason: "nothing is reported"},
		"proven":  {reason: "nobody owns the field, so that it is not there", values: []workv1.FeedbackValue{str(FeedbackRequest, request)}},
		"owned":   {reason: "another field manager keeps it", values: []workv1.FeedbackValue{str(FeedbackAutomationOwner, "kubectl"), str(FeedbackRequest, request)}, owner: "kubectl"},
		"no text": {reason: "a value that is no text is none", values: []workv1.FeedbackValue{{Name: FeedbackAutomationOwner}, str(FeedbackRequest, request)}},
	} {
		if owner := AutomationOwner(BoundFeedback(c.values, &Rejected{})); owner != c.owner {
			t.Errorf("%s: %s: got %q", name, c.reason, owner)
		}
	}
}

func BenchmarkParseFeedback(b *testing.B) {
	values := []workv1.FeedbackValue{
		str("healthStatus", "Healthy"), str("syncStatus", "Synced"), str("syncRevision", "53e28ff2"), str("operationStatePhase", "Succeeded"),
		str("operationStateStartedAt", "2026-11-20T09:00:00Z"), str("operationStateFinishedAt", "2026-11-20T09:00:00Z"), str("operationStateMessage", "ok"),
	}
	b.ReportAllocs()
	for b.Loop() {
		if f, ok := ParseFeedback(values); !ok || f.Health != "Healthy" {
			b.Fatal(f)
		}
	}
}
