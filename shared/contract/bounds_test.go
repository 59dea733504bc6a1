// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestMessage(t *testing.T) {
	cases := map[string]struct {
		reason, in, want string
		rejected         Rejected
	}{
		"empty":   {reason: "nothing stays nothing"},
		"plain":   {reason: "lines and other scripts are what messages are made of", in: "one\n\ttwo: ünï 世界 🚀", want: "one\n\ttwo: ünï 世界 🚀"},
		"limit":   {reason: "what fits is whole", in: strings.Repeat("x", MaxMessage), want: strings.Repeat("x", MaxMessage)},
		"long":    {reason: "what does not fit is cut, and shows it", in: strings.Repeat("x", 1<<20), want: strings.Repeat("x", MaxMessage-3) + "…", rejected: Rejected{TooLong: 1}},
		"rune":    {reason: "no character is cut in two", in: strings.Repeat("🚀", 300), want: strings.Repeat("🚀", 255) + "…", rejected: Rejected{TooLong: 1}},
		"control": {reason: "nothing steers a terminal", in: "a\x1b[31mb\x00c\r\u0085d\x7f", want: "a [31mb c  d ", rejected: Rejected{InvalidText: 1}},
		"bidi":    {reason: "or turns text around", in: "a\u202eb\u2066c", want: "a b c", rejected: Rejected{InvalidText: 1}},
		"utf8":    {reason: "the API server would refuse it", in: "a\xff\xfeb", want: "a\ufffd\ufffdb", rejected: Rejected{InvalidText: 1}},
		"grows":   {reason: "a repair does not make it longer than the limit", in: strings.Repeat("\xff", MaxMessage), want: strings.Repeat("\ufffd", 340) + "…", rejected: Rejected{InvalidText: 1, TooLong: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var rejected Rejected
			got := Message(c.in, &rejected)
			if got != c.want || rejected != c.rejected {
				t.Errorf("%s: got %d bytes %.80q, want %d bytes %.80q; %+v", c.reason, len(got), got, len(c.want), c.want, rejected)
			}
			if again := Message(got, &rejected); again != got || rejected != c.rejected {
				t.Errorf("a bounded message was bounded again: %.80q, %+v", again, rejected)
			}
		})
	}
}

// Each value is kept, cut or left out separately.
func TestBoundFeedback(t *testing.T) {
	digits := strings.Repeat("1", 1000)
	good, long := str("syncStatus", "Synced"), strings.Repeat("x", 300<<10)
	many := []workv1.FeedbackValue{good}
	for i := range 10_000 {
		many = append(many, str(fmt.Sprint("value", i), long))
	}
	cases := map[string]struct {
		reason   string
		values   []workv1.FeedbackValue
		want     Feedback
		rejected Rejected
	}{
		"message":  {reason: "a long message is cut", values: []workv1.FeedbackValue{str("healthMessage", strings.Repeat("x", 1<<20)), good}, want: Feedback{Sync: "Synced", HealthMessage: strings.Repeat("x", MaxMessage-3) + "…"}, rejected: Rejected{TooLong: 1}},
		"status":   {reason: "a status that Argo CD does not have was not reported", values: []workv1.FeedbackValue{str("syncStatus", long)}, rejected: Rejected{UnknownCode: 1}},
		"codes":    {reason: "nor a health or phase", values: []workv1.FeedbackValue{str("healthStatus", "Splendid"), str("operationStatePhase", "succeeded"), good}, want: Feedback{Sync: "Synced"}, rejected: Rejected{UnknownCode: 2}},
		"revision": {reason: "a part of a revision is another revision", values: []workv1.FeedbackValue{str("syncRevision", strings.Repeat("a", MaxToken+1)), good}, want: Feedback{Sync: "Synced"}, rejected: Rejected{TooLong: 1}},
		"version":  {reason: "a chart's version is a revision, too", values: []workv1.FeedbackValue{str("syncRevision", "v1.2.3-rc.1+build/5")}, want: Feedback{Revision: "v1.2.3-rc.1+build/5"}},
		"lines":    {reason: "a revision of two lines is none", values: []workv1.FeedbackValue{str("syncRevision", "a\nb"), good}, want: Feedback{Sync: "Synced"}, rejected: Rejected{InvalidText: 1}},
		"times": {reason: "what is no time, or no sane one, was not reported", values: []workv1.FeedbackValue{
			str("operationStateStartedAt", "2026-11-20T09:30:00."+digits+"Z"), str("operationStateFinishedAt", "2026-11-20T9:30:00Z"), str("reconciledAt", "2026-11-20T09:30:00,5Z"), good,
		}, want: Feedback{Sync: "Synced"}, rejected: Rejected{InvalidTime: 3}},
		"time":   {reason: "a time may have any precision and zone", values: []workv1.FeedbackValue{str("reconciledAt", "2026-11-20T09:30:00.123456789+05:30")}, want: Feedback{ReconciledAt: "2026-11-20T09:30:00.123456789+05:30"}},
		"many":   {reason: "of more values than the work asks for the first count", values: many, want: Feedback{Sync: "Synced"}, rejected: Rejected{TooMany: 1}},
		"strays": {reason: "a value that the work does not ask for costs nothing", values: []workv1.FeedbackValue{str("stray", long), raw("conditionOther", long), good}, want: Feedback{Sync: "Synced"}},
		"raw":    {reason: "a huge JSON value is not decoded", values: []workv1.FeedbackValue{raw("conditionSyncError", `["`+long+`"]`), good}, want: Feedback{Sync: "Synced"}, rejected: Rejected{TooLong: 1}},
		"list":   {reason: "a message of a list is bounded, too", values: []workv1.FeedbackValue{raw("conditionSyncError", `["a\u0000b","c"]`)}, want: Feedback{Conditions: []Condition{{Type: "SyncError", Message: "a b"}}}, rejected: Rejected{InvalidText: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := ParseFeedback(c.values)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%.500s", c.reason, diff)
			}
			var rejected Rejected
			bounded, _ := ParseFeedback(BoundFeedback(c.values, &rejected))
			if diff := cmp.Diff(c.want, bounded); diff != "" {
				t.Errorf("bounded values say something else (-want +got):\n%.500s", diff)
			}
			if rejected != c.rejected {
				t.Errorf("counted %+v, want %+v", rejected, c.rejected)
			}
		})
	}
}

// propagation compares the values of a request. A value that was cut must not equal a value that was sent.
func TestBoundFeedback_boundsRequests(t *testing.T) {
	var rejected Rejected
	got := BoundFeedback([]workv1.FeedbackValue{
		str(FeedbackRequest, strings.Repeat("r", 1<<20)), str(FeedbackOperationOwner, "argocd\n"), str(FeedbackRefresh, "normal"), str(FeedbackRefresh, "hard"),
	}, &rejected)
	want := []workv1.FeedbackValue{str(FeedbackRequest, strings.Repeat("r", MaxToken-3)+"…"), str(FeedbackOperationOwner, "argocd "), str(FeedbackRefresh, "normal")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Rejected{TooLong: 1, InvalidText: 1}); rejected != want {
		t.Errorf("counted %+v", rejected)
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00b", "\xff\xfe", strings.Repeat("ü", 600), strings.Repeat("\xf0\x9f", 700), "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var rejected Rejected
		message, token := Message(s, &rejected), Token(s, &rejected)
		if len(message) > MaxMessage || len(token) > MaxToken || !utf8.ValidString(message) || !utf8.ValidString(token) {
			t.Errorf("%q became %q and %q", s, message, token)
		}
		if strings.ContainsFunc(message, func(r rune) bool { return IsControl(r, true) }) || strings.ContainsFunc(token, func(r rune) bool { return IsControl(r, false) }) {
			t.Errorf("%q became %q and %q", s, message, token)
		}
		var none Rejected
		if Message(message, &none) != message || Token(token, &none) != token || none != (Rejected{}) {
			t.Errorf("%q is not stable", s)
		}
		for _, name := range []string{Name(s, &rejected), revisionOf(s)} {
			if name != "" && name != s {
				t.Errorf("%q became the name %q", s, name)
			}
		}
	})
}

func revisionOf(s string) string {
	kept, _ := revision(s, &Rejected{})
	return kept
}
