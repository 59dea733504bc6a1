// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestFillTransientGaps(t *testing.T) {
	previous := Observation{Health: "Healthy", Sync: "Synced", Revision: "53e28ff2", Operation: operation, Reported: true, Work: "work"}
	of := func(edit func(*Observation)) Observation {
		o := previous
		edit(&o)
		return o
	}
	newer := contract.OperationFeedback{Phase: "Running", StartedAt: "2026-11-20T10:30:00Z"}
	behind := contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2006-01-02T15:04:05Z"}
	ahead := contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2096-01-02T15:04:05Z"}
	cases := map[string]struct {
		reason            string
		previous, current Observation
		revision          string
		operation         contract.OperationFeedback
	}{
		"vanished": {
			reason:   "an operation that vanishes is no news",
			previous: previous, current: Observation{Sync: "Synced", Revision: "next", Reported: true, Work: "work"},
			revision: "next", operation: operation,
		},
		"clockBehind": {
			reason:   "nor when the managed cluster's clock is years behind the hub's",
			previous: of(func(o *Observation) { o.Operation = behind }), current: Observation{Sync: "Synced", Reported: true, Work: "work"},
			operation: behind,
		},
		"clockAhead": {
			reason:   "nor when it is years ahead",
			previous: of(func(o *Observation) { o.Operation = ahead }), current: Observation{Sync: "Synced", Reported: true, Work: "work"},
			operation: ahead,
		},
		"next": {
			reason:   "the next operation replaces it whole, its end and message too",
			previous: previous, current: Observation{Sync: "OutOfSync", Revision: "next", Operation: newer, Reported: true, Work: "work"},
			revision: "next", operation: newer,
		},
		"comparisonError": {
			reason:   "a failed comparison keeps the revision",
			previous: previous, current: Observation{Sync: "Unknown", Reported: true, Operation: operation, Work: "work"},
			revision: "53e28ff2", operation: operation,
		},
		"multiSource": {
			reason:   "an Application that now has several sources has no single revision",
			previous: previous, current: Observation{Sync: "Synced", Reported: true, Operation: operation, Work: "work"}, operation: operation,
		},
		"silent": {
			reason:   "a work that says nothing yet inherits nothing",
			previous: previous, current: Observation{Sync: "Unknown", Work: "work"},
		},
		"otherCluster": {
			reason:   "the operation of another work ran on another cluster",
			previous: previous, current: Observation{Sync: "OutOfSync", Reported: true, Work: "next"},
		},
		"otherClusterAhead": {
			reason:   "also when that cluster's clock says that it began after this work was made",
			previous: of(func(o *Observation) { o.Operation = ahead }), current: Observation{Sync: "OutOfSync", Reported: true, Work: "next"},
		},
		"restarted": {
			reason:   "after a restart it is unknown whose operation the hub shows; none is shown for the moment, or for good",
			previous: of(func(o *Observation) { o.Work = "" }), current: Observation{Sync: "Unknown", Reported: true, Work: "work"},
			revision: "53e28ff2",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := FillTransientGaps(c.previous, c.current)
			if got.Revision != c.revision || got.Operation != c.operation {
				t.Errorf("%s: got revision %q, operation %+v", c.reason, got.Revision, got.Operation)
			}
			if got.Health != c.current.Health || got.Sync != c.current.Sync || got.Work != c.current.Work {
				t.Errorf("health, sync or work came back from the past: %+v", got)
			}
		})
	}
}
