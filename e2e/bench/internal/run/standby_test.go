// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A change needs one write of its Application and one of its report. beyond returns all other writes.
func TestBeyond(t *testing.T) {
	c := rig.Change{Application: &rig.Application{Set: "set00", Cluster: "cluster0001"}}
	status := audit.Entry{Verb: "patch", Resource: "applications", Name: "set00-cluster0001", Code: 200}
	report := audit.Entry{Verb: "update", Resource: "multiclusterapplicationsetreports", Name: "set00", Code: 200}
	with := func(e audit.Entry, edit func(*audit.Entry)) audit.Entry {
		edit(&e)
		return e
	}
	for name, tc := range map[string]struct {
		reason string
		all    []audit.Entry
		want   string
	}{
		"nothing": {"no write is no write too many", nil, ""},
		"due":     {"that is the change", []audit.Entry{status, report}, ""},
		"twice":   {"the second status says nothing new", []audit.Entry{status, report, status}, "; map[patch applications 200:1]"},
		"another": {
			"nothing changed there", []audit.Entry{status, with(status, func(e *audit.Entry) { e.Name = "set00-cluster0002" }), with(report, func(e *audit.Entry) { e.Name = "set01" })},
			"; map[patch applications 200:1 update multiclusterapplicationsetreports 200:1]",
		},
		"refused": {
			"what the API server refuses is a request that it had", []audit.Entry{with(report, func(e *audit.Entry) { e.Code = 409 }), report},
			"; map[update multiclusterapplicationsetreports 409:1]",
		},
		"rewritten": {"a change of status asks for no ManifestWork", []audit.Entry{{Verb: "patch", Resource: "manifestworks", Name: "set00-cluster0001", Code: 200}}, "; map[patch manifestworks 200:1]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rig.Kinds(beyond(tc.all, c)); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// The rows contain the longest takeover, and the number of all unneeded writes.
func TestRowsOfTakeovers_containTheLongestTakeover(t *testing.T) {
	b := &rig.Rig{Options: rig.Options{Progress: func(string) {}}, Results: &figure.Results{}, Load: &rig.Load{}}
	rowsOfTakeovers(b, &pair{
		name: env.Propagation, took: []time.Duration{21 * time.Second, 16 * time.Second}, beyond: make([]audit.Entry, 3),
	})
	if len(b.Results.Rows) != 2 {
		t.Fatalf("rows: %+v", b.Results.Rows)
	}
	took, writes := b.Results.Rows[0], b.Results.Rows[1]
	if took.Value != 21 || took.Target != 20 || took.Verdict() != "missed" {
		t.Errorf("time: %+v", took)
	}
	if writes.Value != 3 || writes.Verdict() != "missed" {
		t.Errorf("writes: %+v", writes)
	}
}

// No manifest sets durations of leader election, so the pairs run with the binaries' defaults.
func TestLeaderElection_hasTheDefaultsInEveryManifest(t *testing.T) {
	elects := 0
	err := filepath.WalkDir(filepath.Join(testkit.Root(), "deploy"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		elects += strings.Count(string(content), "--leader-elect")
		if strings.Contains(string(content), "--leader-elect-") {
			t.Errorf("%s sets durations of leader election: have the pairs started with them", path)
		}
		return err
	})
	if err != nil || elects == 0 {
		t.Errorf("%d flags of leader election are in the manifests: %v", elects, err)
	}
}
