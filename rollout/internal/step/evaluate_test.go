// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// A failed operation counts against the candidate that it synced, and against no other: Argo CD
// keeps the last one, also when the next revision needs none.
func TestOfApplication_failedOperation(t *testing.T) {
	for name, c := range map[string]struct {
		recorded, began string
		operation       []string
		sync            string
		want            verdict
	}{
		"of the candidate":                               {began: "t1", operation: []string{"new"}, sync: "OutOfSync", want: bad},
		"of the candidate, which was found by it":        {began: "t1", operation: []string{"new"}, sync: "Synced", want: bad},
		"of another revision, nothing to sync":           {began: "t1", operation: []string{"old"}, sync: "Synced", want: good},
		"of another revision, the next has to come":      {began: "t1", operation: []string{"old"}, sync: "OutOfSync", want: undecided},
		"from before, its revision is not known":         {recorded: "t1", began: "t1", sync: "Synced", want: good},
		"since then, its revision is not known":          {recorded: "t1", began: "t2", sync: "Synced", want: bad},
		"from before, of the same revision as is wanted": {recorded: "t1", began: "t1", operation: []string{"new"}, sync: "OutOfSync", want: undecided},
	} {
		p := &pass{s: &rollout.Status{Candidate: &rollout.Version{Revisions: []string{"new"}}}}
		a := &App{Known: true, Health: argocd.HealthHealthy, Sync: c.sync, Phase: argocd.OperationFailed, Began: c.began, Revisions: []string{"new"}, OperationRevisions: c.operation}
		if got := p.ofApplication(&rollout.Cluster{Operation: c.recorded}, a, false); got != c.want {
			t.Errorf("%s: verdict %d, want %d", name, got, c.want)
		}
	}
}

func TestUnpinned(t *testing.T) {
	pinned := rollout.Carried{Content: "a", Revisions: []string{"r"}}
	clusters := map[string]Cluster{
		"branch":  {Apps: []App{{HasWork: true, Applied: true, Carried: pinned}, {HasWork: true, Applied: true}}},
		"first":   {Apps: []App{{HasWork: true, Applied: true}}},
		"new":     {Apps: []App{{}}},
		"on way":  {Apps: []App{{HasWork: true, Carried: pinned}}},
		"settled": {Apps: []App{{HasWork: true, Applied: true, Carried: pinned}}},
	}
	s := &rollout.Status{Following: []string{"first"}}
	for applied, want := range map[bool][]string{true: {"branch"}, false: {"branch", "on way"}} {
		if got := Unpinned(clusters, s, applied); !slices.Equal(got, want) {
			t.Errorf("applied before: %t: %q follow the branch, want %q", applied, got, want)
		}
	}
}

// A success that begins late in a second does not last less for it once it has been stored.
func TestTransition_successLastsInFull(t *testing.T) {
	began := time.Date(2026, 11, 23, 10, 0, 0, 900_000_000, time.UTC)
	e, stored := rollout.Cluster{State: rollout.StateProgressing}, rollout.Cluster{}
	transition(&e, good, "", &timer{now: began, soak: 6 * time.Second})
	raw, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(raw, &stored)
	}
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]bool{5900 * time.Millisecond: false, 6100 * time.Millisecond: true} {
		if got := (&timer{now: began.Add(after), soak: 6 * time.Second}).soaked(&stored); got != want {
			t.Errorf("%s after a success began it has lasted six: %t, want %t", after, got, want)
		}
	}
}
