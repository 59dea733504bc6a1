// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

func many(name string, resources int) Application {
	a := Application{Set: intermediate.Key{Namespace: "argocd", Name: "s"}, Namespace: "argocd", Name: name}
	for i := range resources {
		a.Resources = append(a.Resources, intermediate.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprintf("%s-%05d", name, i)})
	}
	return a
}

// Size never returns less than the row's size in a file, for any content.
func TestSize_isNoLessThanTheFile(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	pieces := []string{"plain", "<", "&", "\u2028", "\x01", "\"", "\\", "ü", "名", "\xff", "\n"}
	text := func() string {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 500 {
		a := Application{Namespace: text(), Name: text()}
		for range random.IntN(5) {
			r := intermediate.Resource{APIVersion: text(), Kind: text(), Namespace: text(), Name: text()}
			a.Resources = append(a.Resources, r)
			if random.IntN(2) == 0 {
				a.Held = append(a.Held, intermediate.HeldResource{Resource: r, Since: time.Unix(1, 0).UTC()})
			}
		}
		for range random.IntN(3) {
			a.Conditions = append(a.Conditions, intermediate.Condition{Type: text(), Message: text()})
		}
		cluster, since := text(), time.Unix(1, 0).UTC()
		row := intermediate.Application{Cluster: cluster, Namespace: a.Namespace, Name: a.Name, Resources: a.Resources, HeldResources: a.Held, Conditions: a.Conditions, StaleSince: &since}
		empty := intermediate.Report{}
		frame, err := intermediate.Encode(&empty)
		if err != nil {
			t.Fatal(err)
		}
		data, err := intermediate.Encode(&intermediate.Report{Applications: []intermediate.Application{row}})
		if err != nil {
			t.Fatal(err)
		}
		if got := Size(cluster, []Application{a}); got < len(data)-len(frame) {
			t.Fatalf("%d of %d bytes are counted: %s", got, len(data)-len(frame), data)
		}
	}
}

func TestLimit(t *testing.T) {
	small, large, larger := many("a", 3), many("b", 1000), many("c", 2000)
	one, least := Size("c1", []Application{small}), Size("c1", []Application{many("a", 0)})
	tests := []struct {
		reason string
		apps   []Application
		limit  int
		want   []int // the number of resources of each remaining Application
		cut    Cut
	}{
		{"all fits", []Application{small, large}, 1 << 20, []int{3, 1000}, Cut{}},
		{"the last lose their resources", []Application{small, large, larger}, one + Size("c1", []Application{large}) + 1000, []int{3, 1000, 0}, Cut{Resources: 2000}},
		{"no Application has more than a report could use", []Application{many("a", MaxResources+10)}, 1 << 30, []int{MaxResources}, Cut{Resources: 10}},
		{"rows come before resources", []Application{many("a", 5), many("b", 5), many("c", 5)}, 3*least + 5, []int{0, 0, 0}, Cut{Resources: 15}},
		{"and are left out when there is no room for them either", []Application{many("a", 5), many("b", 5), many("c", 5)}, 2*least + 5, []int{0, 0}, Cut{Applications: 1, Resources: 15}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			before := make([]int, len(tc.apps))
			for i := range tc.apps {
				before[i] = len(tc.apps[i].Resources)
			}
			got, cut := Limit("c1", tc.apps, tc.limit)
			var counts []int
			for i := range got {
				counts = append(counts, len(got[i].Resources))
			}
			if len(counts) != len(tc.want) || cut.Applications != tc.cut.Applications {
				t.Fatalf("%v resources, cut %+v; want %v, %+v", counts, cut, tc.want, tc.cut)
			}
			for i, n := range counts {
				if d := n - tc.want[i]; d > 20 || d < -20 || tc.want[i] < 10 && d != 0 {
					t.Errorf("%v resources, want about %v", counts, tc.want)
				}
			}
			if size := Size("c1", got); size > tc.limit {
				t.Errorf("%d bytes, limit %d", size, tc.limit)
			}
			sum, all := 0, 0
			for i := range tc.apps {
				all += before[i]
				if len(tc.apps[i].Resources) != before[i] {
					t.Error("the caller's Applications have changed")
				}
			}
			for _, n := range counts {
				sum += n
			}
			if cut.Applications == 0 && sum+cut.Resources != all {
				t.Errorf("%d kept and %d cut of %d", sum, cut.Resources, all)
			}
		})
	}
}

func TestLimit_keepsHeldEntriesWithTheirResource(t *testing.T) {
	a := many("a", 100)
	for _, r := range a.Resources[10:] {
		a.Held = append(a.Held, intermediate.HeldResource{Resource: r, Since: time.Unix(1, 0)})
	}
	a.keep(50)
	if len(a.Resources) != 50 || len(a.Held) != 40 || a.LeftOut != 50 {
		t.Fatalf("%d resources, %d held, %d left out", len(a.Resources), len(a.Held), a.LeftOut)
	}
}

// A re-created Application may have two rows until search deletes the old one. Search returns rows in any
// order, and the order does not change the result.
func TestClusters_ignoresTheOrderOfTwoRows(t *testing.T) {
	old, fresh := app("c1", "a", "s"), app("c1", "a", "s")
	fresh.UID = "c1/b"
	objects := []intermediate.Resource{}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		rows := [2]int{order[0], order[1]}
		r := result(old, fresh, rows)
		apps, odd := Clusters(&r)
		if len(odd) != 0 || len(apps["c1"]) != 1 {
			t.Fatalf("%+v, odd %v", apps, odd)
		}
		if got := apps["c1"][0].Resources; len(objects) > 0 && !slices.Equal(got, objects) {
			t.Errorf("%v in one order, %v in the other", objects, got)
		}
		objects = apps["c1"][0].Resources
	}
	if len(objects) != 1 || objects[0].Name != "x" {
		t.Errorf("the row without objects counts: %v", objects)
	}
}

func TestClusters_countsImpossibleMissingResourcesAsOdd(t *testing.T) {
	good := `{"version":"v1","kind":"ConfigMap","namespace":"n","name":"good"}`
	for reason, entry := range map[string]string{
		"a kind that is a pattern":    `{"version":"v1","kind":"*","name":"a"}`,
		"a kind that is a comparison": `{"version":"v1","kind":"!Secret","name":"a"}`,
		"a control character":         `{"version":"v1","kind":"Secret","name":"\u0007a"}`,
		"a name with a slash":         `{"version":"v1","kind":"Secret","name":"a/b"}`,
		"a name that is too long":     `{"version":"v1","kind":"Secret","name":"` + strings.Repeat("x", 254) + `"}`,
		"a group that is none":        `{"group":"a\u0000b","version":"v1","kind":"Secret","name":"a"}`,
	} {
		it := app("c1", "a", "s")
		it.Missing = "[" + entry + "," + good + "]"
		r := result(it, it, [2]int{0, 1})
		apps, odd := Clusters(&r)
		names := []string{}
		for _, m := range apps["c1"][0].Resources {
			names = append(names, m.Name)
		}
		if !slices.Contains(names, "good") || len(names) > 2 || len(odd) == 0 {
			t.Errorf("%s: %v, odd %v", reason, names, odd)
		}
	}
}
