// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// resourcesync and aggregation use one rule. Earlier they had a rule each. In most of these cases the two
// rules differed, or both were wrong.
func TestRepeatsOperationError(t *testing.T) {
	const (
		reason  = `error validating data: unknown field "spec.x"`
		attempt = "Failed last sync attempt to 53e28ff2: "
	)
	long := "one or more objects failed to apply, reason: " + strings.Repeat("quota exceeded; ", 100)
	plain := strings.Repeat("one more tasks are not valid; ", 60)
	cut := func(s string) string { return s[:512] + "..." }
	bounded := func(s string) string { return contract.Message(s, &contract.Rejected{}) }
	for name, c := range map[string]struct {
		why, message, otherType, other string
		want                           bool
	}{
		"same":          {why: "the plain case", message: reason, other: reason, want: true},
		"wrapped":       {why: "Argo CD's text around it", message: "objects failed, reason: " + reason, other: attempt + "objects failed, reason: " + reason, want: true},
		"another":       {why: "another reason is news", message: reason, other: attempt + "reason: quota"},
		"other itself":  {why: "an operation error does not repeat itself", message: reason, otherType: OperationError, other: reason},
		"resource":      {why: "the resource that failed is beside the error, not in its place", message: reason, otherType: SyncFailedResource, other: "Service ui: " + reason},
		"both cut":      {why: "search cuts both, the wrapped one earlier in the reason", message: cut(long), other: cut(attempt + long), want: true},
		"other cut":     {why: "only the wrapped one is cut", message: "reason: " + reason, other: "Failed sync attempt: reason: error validating...", want: true},
		"not cut":       {why: "a shorter reason that is whole is another one", message: "reason: " + reason, other: attempt + "reason: error validating"},
		"plain cut":     {why: "resourcesync wanted \"reason: \" in the other, aggregation did not know Argo CD's text", message: cut(plain), other: cut(attempt + plain), want: true},
		"old text":      {why: "Argo CD v2.14 words it so", message: cut(plain), other: cut("Failed sync attempt to 53e28ff2: " + plain), want: true},
		"bounded":       {why: "feedback is cut with an ellipsis, which neither knew", message: bounded(plain), other: bounded(attempt + plain), want: true},
		"both sources":  {why: "search's cut beside feedback's whole message", message: cut(long), other: bounded(attempt + long), want: true},
		"retried":       {why: "the count of retries is no part of it", message: reason + " (retried 5 times).", other: attempt + reason + " (retried 4 times).", want: true},
		"retried cut":   {why: "aggregation took a count that is cut for the reason", message: reason + " (retried 5 ti...", other: attempt + reason, want: true},
		"retried count": {why: "cut before the digits", message: reason + " (retried ...", other: attempt + reason, want: true},
		"retried word":  {why: "resourcesync took any such word for the count", message: "hook (retried by hand) is stuck", other: attempt + "hook is gone"},
		"nothing":       {why: "aggregation dropped an error without a reason, and with it that the operation failed", message: "", other: reason},
		"nothing left":  {why: "the same, cut right there", message: "reason: ...", other: reason},
		"other nothing": {why: "a condition without words repeats nothing", message: reason, other: "..."},
	} {
		t.Run(name, func(t *testing.T) {
			kind := c.otherType
			if kind == "" {
				kind = "SyncError"
			}
			if got := RepeatsOperationError(c.message, contract.Condition{Type: kind, Message: c.other}); got != c.want {
				t.Errorf("%s: got %t for\n%.120q beside\n%.120q", c.why, got, c.message, c.other)
			}
		})
	}
}
