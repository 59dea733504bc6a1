// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4" // what the API server applies patches with

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// content makes a report's content with a row for each name, in the given health.
func content(rows map[int]string, resources ...string) *merge.Content {
	c := &merge.Content{}
	for i := range 200 {
		if health, ok := rows[i]; ok {
			c.Rows = append(c.Rows, merge.NewRow(merge.App{
				HubNamespace: "argocd", HubName: "app", Cluster: fmt.Sprintf("cluster-%03d", i), Work: "app-0a1b2", Health: health, Sync: "Synced",
			}, nil))
		}
	}
	var refs []v1alpha1.ResourceRef
	for _, name := range resources {
		refs = append(refs, v1alpha1.ResourceRef{APIVersion: "v1", Kind: "ConfigMap", Name: name})
	}
	c.Resources = merge.Resources(refs)
	c.Summary = merge.Summarize(c.Rows)
	return c
}

func document(t *testing.T, c *merge.Content) []byte {
	t.Helper()
	data, err := json.Marshal(v1alpha1.MulticlusterApplicationSetReport{Statuses: c.Statuses()})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// patched applies steps the way the API server does.
func patched(t *testing.T, have *merge.Content, steps []operation) v1alpha1.AppSetStatuses {
	t.Helper()
	body, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		t.Fatal(err)
	}
	data, err := patch.Apply(document(t, have))
	if err != nil {
		t.Fatalf("the patch does not apply: %v\n%s", err, body)
	}
	var report v1alpha1.MulticlusterApplicationSetReport
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	return report.Statuses
}

func TestDiff(t *testing.T) {
	const healthy, degraded = "Healthy", "Degraded"
	many := func(n int, health string) map[int]string {
		rows := map[int]string{}
		for i := range n {
			rows[i] = health
		}
		return rows
	}
	but := func(rows map[int]string, i int, health string) map[int]string {
		if health == "" {
			delete(rows, i)
		} else {
			rows[i] = health
		}
		return rows
	}
	for name, test := range map[string]struct {
		why        string
		have, want *merge.Content
		paths      []string
	}{
		"equal": {
			why:  "equal content in different memory is no difference",
			have: content(many(10, healthy), "a"), want: content(many(10, healthy), "a"),
		},
		"one row changes": {
			why:  "a change costs its row and the summary, however large the report",
			have: content(many(100, healthy)), want: content(but(many(100, healthy), 42, degraded)),
			paths: []string{"replace /statuses/clusterConditions/42", "add /statuses/summary"},
		},
		"a row comes": {
			why:  "a new row is added in its place",
			have: content(but(many(100, healthy), 42, "")), want: content(many(100, healthy)),
			paths: []string{"add /statuses/clusterConditions/42", "add /statuses/summary"},
		},
		"the last row is new": {
			why:  "the end of the list is a place too",
			have: content(many(10, healthy)), want: content(many(11, healthy)),
			paths: []string{"add /statuses/clusterConditions/10", "add /statuses/summary"},
		},
		"a row goes": {
			why:  "a row of an Application that is gone goes",
			have: content(many(100, healthy)), want: content(but(many(100, healthy), 42, "")),
			paths: []string{"remove /statuses/clusterConditions/42", "add /statuses/summary"},
		},
		"most rows change": {
			why:  "many small steps cost more than one large one",
			have: content(many(100, healthy)), want: content(many(100, degraded)),
			paths: []string{"add /statuses"},
		},
		"first rows": {
			why:  "an empty list is not stored, so there is nothing to add a row to",
			have: content(nil, "a"), want: content(many(1, healthy), "a"),
			paths: []string{"add /statuses"},
		},
		"last rows": {
			why:  "an empty list is not stored",
			have: content(many(1, healthy), "a"), want: content(nil, "a"),
			paths: []string{"add /statuses"},
		},
		"first resources": {
			why:  "search came",
			have: content(many(3, healthy)), want: content(many(3, healthy), "a"),
			paths: []string{"add /statuses/resources"},
		},
		"no resources": {
			why:  "an empty list is not stored",
			have: content(many(3, healthy), "a"), want: content(many(3, healthy)),
			paths: []string{"remove /statuses/resources"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps := diff(test.have, test.want)
			var paths []string
			for _, s := range steps {
				paths = append(paths, s.Op+" "+s.Path)
			}
			if diff := cmp.Diff(test.paths, paths); diff != "" {
				t.Errorf("%s:\n%s", test.why, diff)
			}
			if diff := cmp.Diff(test.want.Statuses(), patched(t, test.have, steps)); diff != "" {
				t.Errorf("the patch leads elsewhere:\n%s", diff)
			}
		})
	}
}

// Whatever the two contents are, the patch leads from one to the other.
func TestDiffLeadsThere(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	health := []string{"Healthy", "Degraded", "Progressing"}
	for range 300 {
		have, want := map[int]string{}, map[int]string{}
		for i := range 1 + random.IntN(199) {
			h := health[random.IntN(3)]
			if random.IntN(10) > 0 {
				have[i] = h
			}
			if random.IntN(10) == 0 {
				h = health[random.IntN(3)]
			}
			if random.IntN(10) > 0 {
				want[i] = h
			}
		}
		resources := []string{"a", "b", "c"}
		from, to := content(have, resources[:random.IntN(4)]...), content(want, resources[:random.IntN(4)]...)
		if diff := cmp.Diff(to.Statuses(), patched(t, from, diff(from, to))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows := make([]*merge.Row, n)
			for i := range rows {
				rows[i] = merge.NewRow(merge.App{Cluster: fmt.Sprintf("cluster-%05d", i), HubName: "app", Health: "Healthy", Sync: "Synced"}, nil)
			}
			have, want := &merge.Content{Rows: rows}, &merge.Content{Rows: append([]*merge.Row(nil), rows...)}
			changed := rows[n/2].ClusterCondition
			changed.HealthStatus = "Degraded"
			want.Rows[n/2] = merge.Adopt([]v1alpha1.ClusterCondition{changed})[0]
			b.ReportAllocs()
			for b.Loop() {
				diff(have, want)
			}
		})
	}
}
