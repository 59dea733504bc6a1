// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

func TestEqual(t *testing.T) {
	made := func(change func(c *Content)) *Content {
		rows := fleet(3, func(int) (string, string, string) { return "Degraded", "Synced", "broken" })
		c := &Content{Rows: rows, Resources: resources(2), Summary: Summarize(rows)}
		change(c)
		return c
	}
	row := func(i int, change func(r *v1alpha1.ClusterCondition)) func(c *Content) {
		return func(c *Content) {
			changed := c.Rows[i].ClusterCondition
			changed.Conditions = slices.Clone(changed.Conditions)
			change(&changed)
			c.Rows[i] = newRow(changed)
		}
	}
	for name, test := range map[string]struct {
		why    string
		change func(c *Content)
		equal  bool
	}{
		"other memory":    {"it is what is said that counts", func(*Content) {}, true},
		"left out":        {"what a report does not hold is not read back from it", func(c *Content) { c.RowsLeftOut, c.ResourcesLeftOut = 1, 2 }, true},
		"health":          {"every field counts", row(1, func(r *v1alpha1.ClusterCondition) { r.HealthStatus = "Healthy" }), false},
		"same length":     {"so it does when the length stays", row(2, func(r *v1alpha1.ClusterCondition) { r.SyncRevision = "63e28ff20cc530b9ada2173fbbd64d48338583ba" }), false},
		"stale":           {"a reader must see how old search's words are", row(1, func(r *v1alpha1.ClusterCondition) { r.StaleSince = "2026-11-20T10:00:00Z" }), false},
		"message":         {"and in a condition", row(0, func(r *v1alpha1.ClusterCondition) { r.Conditions[0].Message = "brOken" }), false},
		"condition gone":  {"a mended error is a change", row(0, func(r *v1alpha1.ClusterCondition) { r.Conditions = nil }), false},
		"a row less":      {"an Application went", func(c *Content) { c.Rows = c.Rows[:2] }, false},
		"a row more":      {"an Application came", func(c *Content) { c.Rows = append(c.Rows, c.Rows[2]) }, false},
		"order":           {"rows are sorted; who wrote these was not us", func(c *Content) { slices.Reverse(c.Rows) }, false},
		"resource gone":   {"search knows less", func(c *Content) { c.Resources = resources(1) }, false},
		"resources reset": {"search knows nothing", func(c *Content) { c.Resources = ResourceList{} }, false},
		"summary":         {"it also counts what is left out", func(c *Content) { c.Summary.Healthy = "7" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := made(func(*Content) {}), made(test.change)
			if a.Equal(b) != test.equal || b.Equal(a) != test.equal {
				t.Errorf("%s: got %t and %t, want %t", test.why, a.Equal(b), b.Equal(a), test.equal)
			}
		})
	}
}

// Aggregation compares a report before each write. Nearly all rows are the same pointers then.
func BenchmarkEqual(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			have := &Content{Rows: fleet(n, func(int) (string, string, string) { return "Healthy", "Synced", "" })}
			want := &Content{Rows: slices.Clone(have.Rows)}
			want.Rows[n-1] = newRow(want.Rows[n-1].ClusterCondition)
			b.ReportAllocs()
			for b.Loop() {
				if !have.Equal(want) {
					b.Fatal("they differ")
				}
			}
		})
	}
}

// Each write contains the whole report.
func BenchmarkStatuses(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := &Content{Rows: fleet(n, func(int) (string, string, string) { return "Healthy", "Synced", "" })}
			b.ReportAllocs()
			for b.Loop() {
				c.Statuses()
			}
		})
	}
}

func encode(t *testing.T, c *Content) []byte {
	t.Helper()
	data, err := json.Marshal(c.Statuses())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The computed sizes equal the sizes from encoding/json, for every character.
func TestBytes_areExact(t *testing.T) {
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
		for i, limit := range messageLimits {
			var totals [len(messageLimits)]int
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
