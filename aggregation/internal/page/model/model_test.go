// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// fleet is a source with a count of how often it is asked for rows.
type fleet struct {
	rows  map[types.NamespacedName][]*merge.Row
	asked int
}

func (f *fleet) Sets() (keys []types.NamespacedName) {
	for key := range f.rows {
		keys = append(keys, key)
	}
	return keys
}

func (f *fleet) Rows(key types.NamespacedName) ([]*merge.Row, []v1alpha1.ResourceRef) {
	f.asked++
	return f.rows[key], nil
}

func (f *fleet) Cluster(name string) status.Cluster { return status.Cluster{Name: name} }

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

func everything(string) bool { return true }

// row makes a row out of "cluster health sync phase message".
func row(set, text string) *merge.Row {
	f := strings.SplitN(text, " ", 5)
	a := merge.App{HubNamespace: "argocd", HubName: set + "-" + f[0], Cluster: f[0], Work: "w-" + set, Reported: true, Health: f[1], Sync: f[2]}
	if len(f) > 3 {
		a.OperationPhase = f[3]
	}
	if len(f) > 4 {
		kind, message, _ := strings.Cut(f[4], ": ")
		a.Conditions = []v1alpha1.Condition{{Type: kind, Message: message}}
	}
	return merge.NewRow(a, merge.Search{})
}

func setOf(name string, texts ...string) *Set {
	var rows []*merge.Row
	for _, text := range texts {
		rows = append(rows, row(name, text))
	}
	slices.SortFunc(rows, merge.Compare)
	return newSet(key(name), rows, nil, nil)
}

// random returns ApplicationSets with rows of every kind.
func random(dice *rand.Rand, sets, clusters int) (all []*Set) {
	pick := func(values []string) string { return values[dice.IntN(len(values))] }
	for s := range sets {
		var texts []string
		for c := range clusters {
			if dice.IntN(5) == 0 {
				continue
			}
			text := fmt.Sprintf("c%02d %s %s %s", c, pick(Healths), pick(Syncs), strings.TrimSuffix(pick(Phases), NoPhase))
			if dice.IntN(3) == 0 {
				text += " SyncError: exceeded quota of " + strconv.Itoa(dice.IntN(9)) + pick([]string{" cores", " pods"})
			}
			texts = append(texts, text)
		}
		all = append(all, setOf(fmt.Sprintf("set%02d", s), texts...))
	}
	return all
}

func TestTheWorstComeFirst(t *testing.T) {
	lost := " " + string(status.ClusterUnreachable) + ": cluster is not available"
	s := setOf("guestbook",
		"a Healthy Synced Succeeded", "b Suspended Synced Succeeded", "c Healthy OutOfSync Succeeded", "d Progressing Synced Running",
		"e Healthy Synced Failed", "f Unknown Unknown "+lost, "g Unknown Unknown", "h Missing OutOfSync Failed", "i Degraded Synced Succeeded",
		"j Healthy Synced Succeeded SharedResourceWarning: a part of another", "k Healthy Synced Succeeded ComparisonError: no such path", "l Odd Synced")
	items := Items([]*Set{s}, "")
	Sort(items, Query{Sort: SortWorst})
	var order strings.Builder
	for _, i := range items {
		order.WriteString(i.Row.Cluster)
	}
	if got := order.String(); got != "ihglfekdcbaj" {
		t.Errorf("the order is %s", got)
	}
}

func TestSetsByTheShareThatIsNotHealthy(t *testing.T) {
	sets := []*Set{
		setOf("empty"), setOf("fine", "a Healthy Synced"), setOf("half", "a Healthy Synced", "b Missing Synced"),
		setOf("half-of-four", "a Healthy Synced", "b Missing Synced", "c Healthy Synced", "d Missing Synced"),
		setOf("all", "a Degraded Synced"), setOf("also-all", "a Degraded Synced"),
	}
	slices.SortFunc(sets, CompareSets)
	var names []string
	for _, s := range sets {
		names = append(names, s.Key.Name)
	}
	if got := strings.Join(names, " "); got != "all also-all half-of-four half fine empty" {
		t.Errorf("the order is %s", got)
	}
}

// The page says what the report says, field by field.
func TestCountsAreTheSummaryOfTheReport(t *testing.T) {
	for _, s := range random(rand.New(rand.NewPCG(1, 1)), 50, 12) {
		got := v1alpha1.ReportSummary{
			Clusters: strconv.Itoa(s.Clusters), Synced: strconv.Itoa(s.Counts.Applications - s.Counts.OutOfSync()), NotSynced: strconv.Itoa(s.Counts.OutOfSync()),
			Healthy: strconv.Itoa(s.Counts.Healthy()), NotHealthy: strconv.Itoa(s.Counts.NotHealthy()), InProgress: strconv.Itoa(s.Counts.Of("Progressing")),
		}
		if diff := cmp.Diff(merge.Summarize(s.Rows), got); diff != "" {
			t.Errorf("%s: %s", s.Key, diff)
		}
	}
}

// Each facet counts what the list would have with it.
func TestFacetsCountWhatTheyLeadTo(t *testing.T) {
	dice := rand.New(rand.NewPCG(2, 2))
	items := Items(random(dice, 20, 10), "")
	for _, q := range []Query{{}, {Health: "Degraded"}, {Sync: "OutOfSync", Text: "set1"}, {Phase: "Failed", Health: "Missing"}, {Text: "nothing is called that"}} {
		f := FacetsOf(items, q)
		for _, test := range []struct {
			facets []Facet
			with   func(Query, string) Query
		}{
			{f.Health, func(q Query, v string) Query { q.Health = v; return q }},
			{f.Sync, func(q Query, v string) Query { q.Sync = v; return q }},
			{f.Phase, func(q Query, v string) Query { q.Phase = v; return q }},
		} {
			for _, facet := range test.facets {
				if n := len(Filter(items, test.with(q, facet.Value))); n != facet.Count {
					t.Errorf("%+v: %s promises %d, the list has %d", q, facet.Value, facet.Count, n)
				}
			}
		}
	}
}

func TestErrorsAreGroupedByWhatTheySay(t *testing.T) {
	groups := Groups([]*Set{
		setOf("a", "c1 Degraded Synced Failed SyncError: a-c1 exceeded quota by 3", "c2 Degraded Synced Failed SyncError: a-c2 exceeded quota by 41"),
		setOf("b", "c1 Degraded Synced Failed SyncError: b-c1 exceeded quota by 5", "c3 Healthy Synced Succeeded RepeatedResourceWarning: twice", "c4 Healthy Synced Succeeded RepeatedResourceWarning: twice", "c5 Healthy Synced Succeeded RepeatedResourceWarning: twice",
			"c6 Healthy Synced Succeeded RepeatedResourceWarning: twice"),
		setOf("c", "c1 Unknown Unknown  ClusterUnreachable: cluster c1 is not available; last heard: health Healthy", "c2 Unknown Unknown  ClusterUnreachable: cluster c2 is not available; nothing was heard"),
	})
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s %s: %d in %d sets on %d clusters, %d examples", g.Type(), g.Text(), g.Count, g.Sets, g.Clusters, len(g.Examples)))
	}
	want := []string{
		"SyncError … exceeded quota by …: 3 in 2 sets on 2 clusters, 3 examples",
		"ClusterUnreachable cluster … is not available: 2 in 1 sets on 2 clusters, 2 examples",
		"RepeatedResourceWarning twice: 4 in 1 sets on 4 clusters, 4 examples",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, g := range groups {
		if n := len(Filter(Items(nil, ""), Query{Error: g.Hash()})); n != 0 {
			t.Errorf("%d of nothing", n)
		}
	}
}

// The filter of an error leads to those whom the group counts.
func TestAnErrorLeadsToItsApplications(t *testing.T) {
	sets := random(rand.New(rand.NewPCG(3, 3)), 20, 10)
	groups := Groups(sets)
	if len(groups) != 2 {
		t.Fatalf("%d groups", len(groups))
	}
	for _, g := range groups {
		if n := len(Filter(Items(sets, ""), Query{Error: g.Hash()})); n != g.Count {
			t.Errorf("%s: %d of %d", g.Text(), n, g.Count)
		}
	}
}

func TestOneClusterNeverColoursAnother(t *testing.T) {
	sets := []*Set{setOf("a", "c1 Degraded Synced", "c2 Healthy Synced"), setOf("b", "c2 Healthy Synced", "c3 Healthy OutOfSync")}
	var got []string
	for _, c := range Clusters(sets) {
		got = append(got, fmt.Sprintf("%s %d of %d, %d sets", c.Name, c.Counts.NotHealthy(), c.Counts.Applications, c.Sets))
	}
	if diff := cmp.Diff([]string{"c1 1 of 1, 1 sets", "c2 0 of 2, 2 sets", "c3 0 of 1, 1 sets"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(Items(sets, "c2")); n != 2 {
		t.Errorf("%d Applications on c2", n)
	}
}

func TestMatrix(t *testing.T) {
	m := NewMatrix([]*Set{
		setOf("a", "c1 Degraded OutOfSync", "c3 Healthy Synced Running"),
		setOf("b", "c2 Unknown Unknown  ClusterUnreachable: gone"),
	})
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sets, clusters, names := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	var said Matrix
	if err := json.Unmarshal(data[12:12+names], &said); err != nil || sets != 2 || clusters != 3 {
		t.Fatalf("%d × %d, %v", sets, clusters, err)
	}
	if diff := cmp.Diff([][]string{{"argocd/a", "argocd/b"}, {"c1", "c2", "c3"}}, [][]string{said.Sets, said.Clusters}); diff != "" {
		t.Error(diff)
	}
	want := []byte{0, NoCell, NoCell, 2 | 1<<syncShift | staleCell, 5 | 2<<syncShift | runningCell, NoCell}
	if got := data[12+names:]; !bytes.Equal(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
}

// Several Applications of a set on one cluster make the worst one's cell.
func TestACellIsTheWorst(t *testing.T) {
	rows := []*merge.Row{
		merge.NewRow(merge.App{HubNamespace: "n", HubName: "a", Cluster: "c", Work: "1", Health: "Healthy", Sync: "Synced"}, merge.Search{}),
		merge.NewRow(merge.App{HubNamespace: "n", HubName: "b", Cluster: "c", Work: "2", Health: "Degraded", Sync: "Synced"}, merge.Search{}),
		merge.NewRow(merge.App{HubNamespace: "n", HubName: "c", Cluster: "c", Work: "3", Health: "Missing", Sync: "Synced"}, merge.Search{}),
	}
	if m := NewMatrix([]*Set{newSet(key("s"), rows, nil, nil)}); len(m.Cells) != 1 || m.Cells[0]&7 != 0 {
		t.Errorf("cells %v", m.Cells)
	}
}

func TestQueriesAndAddresses(t *testing.T) {
	for name, test := range map[string]struct{ why, address, want string }{
		"nothing":      {"all defaults", "", ""},
		"everything":   {"an address says what is shown", "health=Degraded&page=3&q=guest&size=50&sort=cluster&sync=OutOfSync", ""},
		"defaults":     {"what is the default is not said", "page=1&size=100&sort=worst", ""},
		"health":       {"an unknown value is named with what it takes", "health=Sick", "health=\"Sick\": want Degraded, Missing"},
		"page":         {"so is what is not a number", "page=two", "page=\"two\": want a number from 1 to"},
		"page zero":    {"pages begin at one", "page=0", "page=\"0\""},
		"size":         {"and a page too large to make", "size=10000", "size=\"10000\": want a number from 1 to 500"},
		"long":         {"and a text too long to look for", "q=" + strings.Repeat("x", 300), "q: want at most"},
		"two mistakes": {"all at once", "phase=x&sort=y", "sort=\"y\""},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := url.ParseQuery(test.address)
			if err != nil {
				t.Fatal(err)
			}
			q, err := ParseQuery(values)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v", test.why, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", test.why, err)
			}
			again, err := ParseQuery(q.Values())
			if err != nil || again != q {
				t.Errorf("%s: %+v became %+v, %v", test.why, q, again, err)
			}
		})
	}
}

func TestPages(t *testing.T) {
	for _, test := range []struct {
		total, page, size int
		want              Page
	}{
		{0, 1, 100, Page{Number: 1, Last: 1}},
		{0, 7, 100, Page{Number: 1, Last: 1, Beyond: true}},
		{250, 1, 100, Page{Number: 1, Last: 3, From: 1, To: 100, Total: 250}},
		{250, 3, 100, Page{Number: 3, Last: 3, From: 201, To: 250, Total: 250}},
		{250, 9, 100, Page{Number: 3, Last: 3, From: 201, To: 250, Total: 250, Beyond: true}},
		{200, 2, 100, Page{Number: 2, Last: 2, From: 101, To: 200, Total: 200}},
	} {
		if got := Slice(test.total, Query{Page: test.page, Size: test.size}); got != test.want {
			t.Errorf("page %d of %d: %+v", test.page, test.total, got)
		}
	}
}

// What has not changed is not looked at again, and what nobody looks at is not held.
func TestTheFleetLooksAtWhatChanged(t *testing.T) {
	source := &fleet{rows: map[types.NamespacedName][]*merge.Row{key("a"): {row("a", "c1 Healthy Synced")}, key("b"): {row("b", "c1 Healthy Synced")}}}
	f := NewFleet(source)
	f.Changed(key("a"))
	f.Sets(everything)
	f.Sets(everything)
	if source.asked != 2 {
		t.Errorf("asked %d times for two sets", source.asked)
	}
	source.rows[key("a")] = []*merge.Row{row("a", "c1 Degraded Synced")}
	f.Changed(key("a"))
	if s := f.Set(key("a")); s.Counts.NotHealthy() != 1 || source.asked != 3 {
		t.Errorf("%+v after %d questions", s.Counts, source.asked)
	}
	delete(source.rows, key("b"))
	if sets := f.Sets(everything); len(sets) != 1 || len(f.sets) != 1 || f.Set(key("b")) != nil {
		t.Errorf("%d sets, %d held", len(sets), len(f.sets))
	}
	f.Release()
	f.Changed(key("a"))
	if f.sets != nil || f.changed != nil {
		t.Error("it holds something that nobody asked for")
	}
	if sets := f.Sets(func(namespace string) bool { return namespace != "argocd" }); len(sets) != 0 {
		t.Error("a namespace that is not allowed is shown")
	}
}

func TestRevisions(t *testing.T) {
	s := setOf("a", "c1 Healthy Synced", "c2 Healthy Synced", "c3 Healthy Synced")
	for i, revision := range []string{"v1.5", "v1.4", "v1.4"} {
		s.Rows[i].SyncRevision = revision
	}
	if diff := cmp.Diff([]Revision{{"v1.4", 2}, {"v1.5", 1}}, s.Revisions()); diff != "" {
		t.Error(diff)
	}
}
