// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// fleet makes n rows, sorted; state tells health, sync and error message of each.
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

func resources(n int) ResourceList {
	var refs []v1alpha1.ResourceRef
	for i := range n {
		refs = append(refs, v1alpha1.ResourceRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "guestbook", Name: fmt.Sprintf("ui-%05d", i)})
	}
	return Resources(refs)
}

func encode(t *testing.T, c *Content) []byte {
	t.Helper()
	data, err := json.Marshal(c.Statuses())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const mebibyte = 1 << 20

// The issue's own case: 10,000 clusters with 512 characters of error each.
func TestFitTenThousandErrors(t *testing.T) {
	rows := fleet(10_000, func(i int) (string, string, string) {
		return "Degraded", "OutOfSync", strings.Repeat("e", 508) + fmt.Sprintf("%04d", i)
	})
	c := Fit(rows, resources(20), mebibyte)
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

func TestFit(t *testing.T) {
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
			c := Fit(test.rows, test.resources, test.budget)
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

// Bytes and the shortened sizes are what encoding/json makes, for every character.
func TestBytesAreExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	alphabet := []rune("ab<>&\"\\\n\t\x01\x7fäß€\u2028\u2029😀")
	for range 200 {
		rows := fleet(1+random.IntN(5), func(int) (string, string, string) {
			message := make([]rune, random.IntN(1500))
			for i := range message {
				message[i] = alphabet[random.IntN(len(alphabet))]
			}
			text := string(message)
			if random.IntN(4) == 0 {
				text += "\xff\xfe" // not UTF-8
			}
			return "Degraded", "OutOfSync", text
		})
		c := Content{Rows: rows, Resources: resources(1 + random.IntN(3)), Summary: Summarize(rows)}
		if want := len(encode(t, &c)); c.Bytes() != want {
			t.Fatalf("Bytes() = %d, want %d", c.Bytes(), want)
		}
		for i, limit := range limits {
			var totals [len(limits)]int
			want := 0
			for _, r := range rows {
				r.addShortened(&totals)
				short := r.shorten(limit)
				want += jsonBytes(short.ClusterCondition) + 1
				for _, c := range short.Conditions {
					if n := utf8.RuneCountInString(c.Message); n > limit+1 {
						t.Fatalf("%d characters under a limit of %d", n, limit)
					}
				}
			}
			if totals[i] != want {
				t.Fatalf("limit %d: reckoned %d bytes, want %d", limit, totals[i], want)
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	state := func(cluster, health, sync string) *Row {
		return NewRow(App{Cluster: cluster, Health: health, Sync: sync}, Search{})
	}
	for name, test := range map[string]struct {
		why  string
		rows []*Row
		want v1alpha1.ReportSummary
	}{
		"none": {
			why:  "counts are strings, also when there is nothing to count",
			want: v1alpha1.ReportSummary{Clusters: "0", Synced: "0", NotSynced: "0", Healthy: "0", NotHealthy: "0", InProgress: "0"},
		},
		"progressing is not healthy": {
			why:  "inProgress counts Progressing, which counts as notHealthy too",
			rows: []*Row{state("a", "Progressing", "Synced"), state("b", "Healthy", "Synced"), state("c", "Unknown", "Unknown")},
			want: v1alpha1.ReportSummary{Clusters: "3", Synced: "2", NotSynced: "1", Healthy: "1", NotHealthy: "2", InProgress: "1"},
		},
		"two Applications on one cluster": {
			why:  "clusters counts distinct clusters, the rest counts Applications",
			rows: []*Row{state("a", "Healthy", "Synced"), state("a", "Degraded", "OutOfSync"), state("b", "Healthy", "Synced")},
			want: v1alpha1.ReportSummary{Clusters: "2", Synced: "2", NotSynced: "1", Healthy: "2", NotHealthy: "1", InProgress: "0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Summarize(test.rows)); diff != "" {
				t.Errorf("%s:\n%s", test.why, diff)
			}
		})
	}
}

func TestResources(t *testing.T) {
	ref := func(kind, namespace, name string) v1alpha1.ResourceRef {
		return v1alpha1.ResourceRef{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name}
	}
	got := Resources([]v1alpha1.ResourceRef{
		ref("Service", "b", "x"), ref("Pod", "b", "x"), ref("ReplicaSet", "b", "x"), ref("EndpointSlice", "b", "x"),
		ref("Application", "b", "x"), ref("ApplicationSet", "b", "x"), ref("Cluster", "", "x"),
		ref("ConfigMap", "b", "y"), ref("Service", "a", "x"), ref("Service", "b", "x"), ref("ConfigMap", "b", "x"),
	})
	want := []v1alpha1.ResourceRef{ref("ConfigMap", "b", "x"), ref("ConfigMap", "b", "y"), ref("Service", "a", "x"), ref("Service", "b", "x")}
	if diff := cmp.Diff(want, got.Refs()); diff != "" {
		t.Errorf("want them sorted, once each, and without the kinds that are never listed:\n%s", diff)
	}
	if len(Resources(nil).Refs()) != 0 {
		t.Error("nothing gives something")
	}
}

func TestOnly(t *testing.T) {
	all := resources(5)
	for name, test := range map[string]struct {
		why  string
		keep func(int) bool
		want []v1alpha1.ResourceRef
	}{
		"all":  {"nothing to do", func(int) bool { return true }, all.Refs()},
		"some": {"in the same order", func(i int) bool { return i%2 == 0 }, []v1alpha1.ResourceRef{all.Refs()[0], all.Refs()[2], all.Refs()[4]}},
		"none": {"nothing is left", func(int) bool { return false }, nil},
	} {
		got, want := all.Only(test.keep), Resources(slices.Clone(test.want))
		if !slices.Equal(got.Refs(), want.Refs()) || got.bytes != want.bytes {
			t.Errorf("%s: %s: %v of %d bytes, want %v of %d", name, test.why, got.Refs(), got.bytes, want.Refs(), want.bytes)
		}
	}
	if i, found := all.Find(all.Refs()[3]); i != 3 || !found {
		t.Errorf("the fourth resource is found at %d, %t", i, found)
	}
	if _, found := all.Find(v1alpha1.ResourceRef{Kind: "Deployment"}); found {
		t.Error("a resource is found that is not there")
	}
}

func BenchmarkNewRow(b *testing.B) {
	a := App{
		HubNamespace: "argocd", HubName: "guestbook-cluster-00001", Cluster: "cluster-00001", Work: "guestbook-cluster-00001-0a1b2",
		Health: "Healthy", Sync: "Synced", Revision: "53e28ff20cc530b9ada2173fbbd64d48338583ba", OperationPhase: "Succeeded", OperationStartedAt: "2026-11-20T10:00:00Z",
	}
	b.ReportAllocs()
	for b.Loop() {
		NewRow(a, Search{})
	}
}

func BenchmarkFit(b *testing.B) {
	message := strings.Repeat("e", 512)
	for name, rows := range map[string][]*Row{
		"200 fit":          fleet(200, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
		"2000 fit":         fleet(2000, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
		"10000 x 512 cut":  fleet(10_000, func(int) (string, string, string) { return "Degraded", "OutOfSync", message }),
		"10000 leave some": fleet(10_000, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fit(rows, ResourceList{}, mebibyte)
			}
		})
	}
}
