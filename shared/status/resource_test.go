// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestResourceCondition_showsTheFirstResource(t *testing.T) {
	failed := []string{"resourceSyncFailedKind", "Service", "resourceSyncFailedName", "ui", "resourceSyncFailedMessage", "port 99999"}
	hook := []string{"resourceHookFailedKind", "Job", "resourceHookFailedName", "migrate", "resourceHookFailedMessage", "deadline"}
	degraded := []string{"resourceDegradedKind", "Deployment", "resourceDegradedName", "ui"}
	outOfSync := []string{"resourceOutOfSyncKind", "ConfigMap", "resourceOutOfSyncName", "config"}
	state := func(health, sync, phase string) []string {
		values := []string{"healthStatus", health, "syncStatus", sync}
		if phase != "" {
			values = append(values, "operationStatePhase", phase, "operationStateStartedAt", "2026-11-20T09:30:00Z")
		}
		return values
	}
	cases := map[string]struct {
		reason string
		values [][]string
		want   []contract.Condition
	}{
		"healthy":    {reason: "nothing is broken, whatever is left of a failed operation", values: [][]string{state("Healthy", "Synced", "Failed"), failed, hook, degraded, outOfSync}},
		"syncFailed": {reason: "what failed to sync comes first", values: [][]string{state("Degraded", "OutOfSync", "Failed"), failed, hook, degraded, outOfSync}, want: []contract.Condition{{Type: "SyncFailedResourceError", Message: "Service ui: port 99999"}}},
		"hookFailed": {reason: "a hook has failed", values: [][]string{state("Healthy", "OutOfSync", "Failed"), hook, outOfSync}, want: []contract.Condition{{Type: "SyncFailedResourceError", Message: "Job migrate: deadline"}}},
		"synced":     {reason: "a retry has succeeded", values: [][]string{state("Degraded", "Synced", "Succeeded"), failed, degraded}, want: []contract.Condition{{Type: "DegradedResourceWarning", Message: "Deployment ui"}}},
		"outOfSync":  {reason: "it waits for a sync", values: [][]string{state("Missing", "OutOfSync", ""), outOfSync}, want: []contract.Condition{{Type: "OutOfSyncResourceWarning", Message: "ConfigMap config"}}},
		"syncing":    {reason: "what is being synced is about to change", values: [][]string{state("Missing", "OutOfSync", "Running"), outOfSync}},
		"later":      {reason: "the Application is degraded no longer", values: [][]string{state("Progressing", "Synced", "Succeeded"), degraded}},
		"beside":     {reason: "beside the conditions of Argo CD", values: [][]string{state("Healthy", "OutOfSync", "Failed"), failed, {"conditionSyncError", "e"}}, want: []contract.Condition{{Type: "SyncError", Message: "e"}, {Type: "SyncFailedResourceError", Message: "Service ui: port 99999"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var values []string
			for _, v := range c.values {
				values = append(values, v...)
			}
			w := work(feedback(values...))
			o := Work(w, up)
			if diff := cmp.Diff(c.want, o.Conditions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			for _, condition := range o.StatusConditions() {
				if !OwnsStatusCondition(condition.Type) {
					t.Errorf("%s is written but not owned: it would never go", condition.Type)
				}
				if known := condition.Type == "SyncError"; IsOwnCondition(condition.Type) == known {
					t.Errorf("%s leaves an Application that is not pulled any more: %t", condition.Type, known)
				}
			}
		})
	}
}

// The compact form keeps the compared revisions and the revisions of the last operation, whether or not they
// are equal.
func TestWork_keepsComparedAndSyncedRevisions(t *testing.T) {
	const phase, started = "operationStatePhase", "operationStateStartedAt"
	type revisions struct {
		One       string
		Several   []string
		Operation string
		Synced    []string
	}
	cases := map[string]struct {
		values []string
		want   revisions
	}{
		"none":            {},
		"one":             {values: []string{"syncRevision", "a"}, want: revisions{One: "a"}},
		"synced":          {values: []string{"syncRevision", "a", "operationStateSyncRevision", "a"}, want: revisions{One: "a", Operation: "a"}},
		"another":         {values: []string{"syncRevision", "b", "operationStateSyncRevision", "a"}, want: revisions{One: "b", Operation: "a"}},
		"operationOnly":   {values: []string{"operationStateSyncRevision", "a"}, want: revisions{Operation: "a"}},
		"several":         {values: []string{"syncRevisions0", "a", "syncRevisions1", "b"}, want: revisions{Several: []string{"a", "b"}}},
		"severalOfOne":    {values: []string{"syncRevisions0", "a"}, want: revisions{Several: []string{"a"}}},
		"severalSynced":   {values: []string{"syncRevisions0", "a", "syncRevisions1", "", "operationStateSyncRevisions0", "a", "operationStateSyncRevisions1", ""}, want: revisions{Several: []string{"a", ""}, Synced: []string{"a", ""}}},
		"severalAnothers": {values: []string{"syncRevisions1", "b", "operationStateSyncRevision", "a"}, want: revisions{Several: []string{"", "b"}, Operation: "a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := work(feedback(append([]string{"healthStatus", "Healthy", "syncStatus", "Synced", phase, "Succeeded", started, "2026-11-20T09:30:00Z"}, c.values...)...))
			o := Work(w, up)
			if diff := cmp.Diff(c.want, revisions{o.Revision, o.Revisions, o.OperationRevision, o.OperationRevisions}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			away := Work(w, down)
			if at := " at " + strings.Join(c.want.Several, ", ") + c.want.One; strings.Contains(away.Message, at) != (at != " at ") {
				t.Errorf("a cluster that is away: %s", away.Message)
			}
		})
	}
}
