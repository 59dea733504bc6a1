// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// fleet returns n sorted rows. state returns the health, sync status and error message of a row.
func fleet(n int, state func(i int) (health, sync, message string)) []*Row {
	rows := make([]*Row, 0, n)
	for i := range n {
		health, sync, message := state(i)
		a := App{
			HubNamespace: "argocd", HubName: fmt.Sprintf("guestbook-cluster-%05d", i), Cluster: fmt.Sprintf("cluster-%05d", i), Work: fmt.Sprintf("guestbook-cluster-%05d-0a1b2", i),
			Health: health, Sync: sync, Revision: "53e28ff20cc530b9ada2173fbbd64d48338583ba", OperationPhase: "Failed", OperationStartedAt: "2026-11-20T10:00:00Z",
		}
		if message != "" {
			a.Conditions = []v1alpha1.Condition{{Type: "SyncError", Message: message}}
		}
		rows = append(rows, NewRow(a, Search{}))
	}
	return rows
}

const mebibyte = 1 << 20

// 10,000 clusters report an error of 512 characters each.
func TestTruncate_fitsTenThousandErrors(t *testing.T) {
	rows := fleet(10_000, func(i int) (string, string, string) {
		return "Degraded", "OutOfSync", strings.Repeat("e", 508) + fmt.Sprintf("%04d", i)
	})
	c := Truncate(rows, resources(20), mebibyte)
	if size := len(encode(t, &c)); size > mebibyte || size < mebibyte*95/100 {
		t.Errorf("%d bytes: want the budget of %d used, and not passed", size, mebibyte)
	}
	want := v1alpha1.ReportSummary{Clusters: "10000", Synced: "0", NotSynced: "10000", Healthy: "0", NotHealthy: "10000", InProgress: "0"}
	if c.Summary != want {
		t.Errorf("summary %+v: want %+v, exact over all clusters", c.Summary, want)
	}
	if c.RowsLeftOut == 0 || c.RowsLeftOut+len(c.Rows) != 10_000 {
		t.Errorf("%d rows and %d left out: want 10000 in all", len(c.Rows), c.RowsLeftOut)
	}
	if len(c.Resources.Refs()) != 20 {
		t.Errorf("%d resources: want all 20, they are few", len(c.Resources.Refs()))
	}
}

func TestTruncate(t *testing.T) {
	long := strings.Repeat("x", 600)
	for name, test := range map[string]struct {
		why       string
		rows      []*Row
		resources ResourceList
		budget    int
		check     func(*Content) string
	}{
		"fits": {
			why:    "what fits is not touched: the very same rows",
			rows:   fleet(100, func(int) (string, string, string) { return "Degraded", "OutOfSync", long }),
			budget: mebibyte,
			check: func(c *Content) string {
				if c.RowsLeftOut != 0 || c.Rows[99].Conditions[0].Message != long {
					return "something was cut"
				}
				return ""
			},
		},
		"messages first": {
			why:    "no row goes while messages can be shorter, and they get no shorter than needed",
			rows:   fleet(100, func(int) (string, string, string) { return "Degraded", "OutOfSync", long }),
			budget: 70_000,
			check: func(c *Content) string {
				if c.RowsLeftOut != 0 {
					return "rows were left out"
				}
				for _, r := range c.Rows {
					if m := r.Conditions[0].Message; m != long[:256]+"…" {
						return "message of " + strconv.Itoa(len(m)) + " bytes"
					}
				}
				return ""
			},
		},
		"healthy before unhealthy": {
			why: "every unhealthy row stays while a healthy one could go, and the first of the healthy ones",
			rows: fleet(300, func(i int) (string, string, string) {
				if i%3 == 1 {
					return "Degraded", "OutOfSync", "e"
				}
				return "Healthy", "Synced", ""
			}),
			budget: 60_000,
			check: func(c *Content) string {
				bad := 0
				for _, r := range c.Rows {
					if r.HealthStatus == "Degraded" {
						bad++
					}
				}
				if bad != 100 || c.RowsLeftOut == 0 || c.Rows[0].Cluster != "cluster-00000" {
					return fmt.Sprintf("%d of 100 unhealthy rows, %d rows left out, first is %s", bad, c.RowsLeftOut, c.Rows[0].Cluster)
				}
				return ""
			},
		},
		"healthy and settled first": {
			why: "a healthy row that is out of sync is missed more than one that is fine",
			rows: fleet(300, func(i int) (string, string, string) {
				if i >= 200 {
					return "Healthy", "OutOfSync", ""
				}
				return "Healthy", "Synced", ""
			}),
			budget: 40_000,
			check: func(c *Content) string {
				if last := c.Rows[len(c.Rows)-1]; last.Cluster != "cluster-00299" || len(c.Rows) < 101 {
					return fmt.Sprintf("%d rows, the last is %s", len(c.Rows), last.Cluster)
				}
				return ""
			},
		},
		"warnings before fine ones": {
			why: "a row that is green but has a warning is missed more than one without",
			rows: fleet(300, func(i int) (string, string, string) {
				if i >= 200 {
					return "Healthy", "Synced", "look here"
				}
				return "Healthy", "Synced", ""
			}),
			budget: 60_000,
			check: func(c *Content) string {
				warnings := 0
				for _, r := range c.Rows {
					warnings += len(r.Conditions)
				}
				if warnings != 100 || c.RowsLeftOut == 0 {
					return fmt.Sprintf("%d of 100 rows with a warning, %d rows left out", warnings, c.RowsLeftOut)
				}
				return ""
			},
		},
		"one row that cannot fit": {
			why: "it is skipped and counted, and costs the others neither their rows nor their messages",
			rows: append([]*Row{NewRow(App{Cluster: "a", Health: "Degraded", Revision: strings.Repeat("x", mebibyte)}, Search{})},
				fleet(50, func(int) (string, string, string) { return "Degraded", "OutOfSync", long })...),
			budget: mebibyte,
			check: func(c *Content) string {
				if len(c.Rows) != 50 || c.RowsLeftOut != 1 || c.Rows[0].Conditions[0].Message != long {
					return fmt.Sprintf("%d rows, %d left out, first message of %d bytes", len(c.Rows), c.RowsLeftOut, len(c.Rows[0].Conditions[0].Message))
				}
				return ""
			},
		},
		"one resource that cannot fit": {
			why:       "it is skipped and counted, and costs the others nothing",
			rows:      fleet(1000, func(int) (string, string, string) { return "Degraded", "OutOfSync", long + long }),
			resources: Resources(append([]v1alpha1.ResourceRef{{Kind: "AAA", Name: strings.Repeat("x", 300<<10)}}, resources(50).Refs()...)),
			budget:    mebibyte,
			check: func(c *Content) string {
				if diff := cmp.Diff(resources(50).Refs(), c.Resources.Refs()); diff != "" || c.ResourcesLeftOut != 1 {
					return fmt.Sprintf("%d resources, %d left out", len(c.Resources.Refs()), c.ResourcesLeftOut)
				}
				return ""
			},
		},
		"resources keep to their quarter": {
			why:       "a list of resources without end does not push the rows out",
			rows:      fleet(50, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
			resources: resources(5000),
			budget:    80_000,
			check: func(c *Content) string {
				if c.RowsLeftOut != 0 || c.ResourcesLeftOut == 0 || c.ResourcesLeftOut+len(c.Resources.Refs()) != 5000 {
					return fmt.Sprintf("%d rows and %d resources left out", c.RowsLeftOut, c.ResourcesLeftOut)
				}
				return ""
			},
		},
		"no room at all": {
			why:    "an absurd budget leaves the counts",
			rows:   fleet(3, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
			budget: 0,
			check: func(c *Content) string {
				if len(c.Rows) != 0 || c.RowsLeftOut != 3 || c.Summary.Clusters != "3" {
					return fmt.Sprintf("%d rows, summary %+v", len(c.Rows), c.Summary)
				}
				return ""
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := encode(t, &Content{Rows: test.rows})
			c := Truncate(test.rows, test.resources, test.budget)
			if problem := test.check(&c); problem != "" {
				t.Errorf("%s: %s", test.why, problem)
			}
			if size := len(encode(t, &c)); test.budget > 1000 && size > test.budget {
				t.Errorf("%d bytes of %d", size, test.budget)
			}
			if !slices.IsSortedFunc(c.Rows, Compare) {
				t.Error("the rows are not in order")
			}
			if diff := cmp.Diff(before, encode(t, &Content{Rows: test.rows})); diff != "" {
				t.Error("the given rows were changed")
			}
		})
	}
}
