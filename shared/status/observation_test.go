// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestConditions(t *testing.T) {
	syncError := contract.Condition{Type: "SyncError", Message: "m"}
	cases := map[string]struct {
		reason         string
		observation    Observation
		report, status []string
	}{
		"plain":       {reason: "the cluster's own conditions as they are", observation: Observation{Conditions: []contract.Condition{syncError}}, report: []string{"SyncError"}, status: []string{"SyncError"}},
		"pending":     {reason: "a change on its way is no error", observation: Observation{Reason: ChangePending}},
		"unreachable": {reason: "a cluster that is away is a warning first", observation: Observation{Reason: ClusterUnreachable, Conditions: []contract.Condition{syncError}}, report: []string{"ClusterUnreachable", "SyncError"}, status: []string{"ClusterUnreachableWarning", "SyncError"}},
		"undelivered": {reason: "a change that is not delivered is a warning", observation: Observation{Reason: ChangeUndelivered}, report: []string{"ChangeUndelivered"}, status: []string{"ChangeUndeliveredWarning"}},
		"failed":      {reason: "a failed apply is an error", observation: Observation{Reason: ApplyFailed}, report: []string{"ApplyFailed"}, status: []string{"ApplyFailedError"}},
		"unreadable":  {reason: "an Application that cannot be read is an error", observation: Observation{Reason: ApplicationUnreadable}, report: []string{"ApplicationUnreadable"}, status: []string{"ApplicationUnreadableError"}},
	}
	names := func(conditions []contract.Condition) (list []string) {
		for _, c := range conditions {
			list = append(list, c.Type)
		}
		return list
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.report, names(c.observation.ReportConditions())); diff != "" {
				t.Errorf("%s, report:\n%s", c.reason, diff)
			}
			status := names(c.observation.StatusConditions())
			if diff := cmp.Diff(c.status, status); diff != "" {
				t.Errorf("%s, status:\n%s", c.reason, diff)
			}
			shown, err := json.Marshal(c.observation.StatusConditions())
			if err != nil {
				t.Fatal(err)
			}
			if want := c.observation.Reason != "" && c.observation.Reason != ChangePending; ShowsReason(shown) != want { // pending is in the health message
				t.Errorf("%s: the status shows a reason: %t, want %t", c.reason, !want, want)
			}
			for _, s := range status {
				if !OwnsStatusCondition(s) {
					t.Errorf("%s is written but not owned: it would never go", s)
				}
			}
		})
	}
	for _, foreign := range []string{"", "PullDeliveryError", "ClusterUnreachable", "SomethingError"} {
		if OwnsStatusCondition(foreign) {
			t.Errorf("%q is not ours", foreign)
		}
	}
}
