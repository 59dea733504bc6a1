// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// counted adds a count, which the recorded queries did not request.
func counted(t testing.TB, name string, count int) []byte {
	t.Helper()
	s := load(t, name)
	a := []byte(`"items": [`)
	if !bytes.Contains(s.body(), a) {
		t.Fatalf("%s has no items", name)
	}
	return bytes.Replace(s.body(), a, fmt.Appendf(nil, `"count": %d, "items": [`, count), 1)
}

func TestClient_decodesRecordedAnswers(t *testing.T) {
	tests := []struct {
		sample         string
		count          int
		items, related int
		kind           Kind
		reason         string
	}{
		{"12-level1-kind_plural", 6, 6, 17, "", "level 1"},
		{"01-success-two-clusters", 6, 6, 27, "", "level 3 decodes as well"},
		{"29b-level1-shared", 1, 1, 3, "", "one Application"},
		{"05-unknown-cluster", 0, 0, 0, "", "nothing matches"},
		{"08-rbac-reader-none", 0, 0, 0, "", "no access looks the same"},
		{"05e-standalone-app-without-relations", 1, 1, 0, "", "nothing related"},
		{"14b-statement-timeout-edges", 6, 6, 0, "", "a failed relations statement looks the same; the poller knows better"},
		{"23c-fine-grained-argo-view-cluster1-reader-allmanaged", 3, 3, 0, "", "kinds that are not granted look the same"},
		{"27-encodings-search", 1, 1, 0, "", "every type is flattened to a text"},
		{"09b-limit-2", 6, 0, 0, KindIncomplete, "a limit cuts items and says nothing, but count does"},
		{"09b-limit-2", 2, 0, 0, KindIncomplete, "a limit cuts related too: the cluster is missing"},
	}
	for _, tc := range tests {
		t.Run(tc.sample, func(t *testing.T) {
			c, _ := newClient(t, answers(string(counted(t, tc.sample, tc.count))))
			r, err := c.Applications(t.Context(), []string{"cluster1", "cluster2"}, Digest{})
			if KindOf(err) != tc.kind || (err != nil) != (tc.kind != "") {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err == nil && (len(r.Items) != tc.items || len(r.Related) != tc.related || len(r.Odd) != 0) {
				t.Errorf("%s: %d items, %d related, odd %v", tc.reason, len(r.Items), len(r.Related), r.Odd)
			}
		})
	}
}

func TestItem(t *testing.T) {
	tests := map[string]struct {
		reason, json string
		want         Item
		fails        bool
	}{
		"all": {"every property that is read", `{"_uid":"c/u","cluster":"c","kind":"K","apigroup":"g","apiversion":"v1","namespace":"n","name":"m","_ownerUID":"c/o","_relatedUids":["c/1","c/2"],"_hubClusterResource":"true","_hostingResource":"ApplicationSet/a/b","healthStatus":"H","syncStatus":"S","_missingResources":"[]","_conditionXError":"m","_conditionYWarning":"w"}`,
			Item{UID: "c/u", Cluster: "c", Kind: "K", APIGroup: "g", APIVersion: "v1", Namespace: "n", Name: "m", OwnerUID: "c/o", RelatedUIDs: []string{"c/1", "c/2"}, OnHub: true,
				Hosting: "ApplicationSet/a/b", Health: "H", Sync: "S", Missing: "[]", Conditions: []Condition{{"XError", "m"}, {"YWarning", "w"}}}, false},
		"unknown":        {"what is not read may be anything", `{"name":"m","x":{"name":"no"},"y":[{"name":"no"}],"z":1.5e3,"t":true,"n":null}`, Item{Name: "m"}, false},
		"case":           {"a user's column may differ in case only", `{"Name":"no","NAME":"no","name":"m"}`, Item{Name: "m"}, false},
		"escapes":        {"quotes, newlines, runes", `{"name":"a\"b\\","_conditionXError":"l1\nl2\tü\u00fc\ud83d\ude00","kind":"<a&b>"}`, Item{Name: `a"b\`, Conditions: []Condition{{"XError", "l1\nl2\tüü😀"}}, Kind: "<a&b>"}, false},
		"tricky":         {"brackets and quotes inside texts", `{"x":"}],{[\"","y":[["\"]"],{"a":"}"}],"name":"m"}`, Item{Name: "m"}, false},
		"space":          {"white space anywhere", "{\n\t\"name\" : \"m\" , \"_relatedUids\" : [ \"a\" , \"b\" ] }", Item{Name: "m", RelatedUIDs: []string{"a", "b"}}, false},
		"empty":          {"an empty row", `{}`, Item{}, false},
		"null":           {"null is absent", `{"name":null,"_relatedUids":null,"_conditionXError":null}`, Item{}, false},
		"empty list":     {"no relations", `{"_relatedUids":[]}`, Item{}, false},
		"no message":     {"a condition without a message says nothing", `{"_conditionXError":"","_condition":"x"}`, Item{}, false},
		"hub false":      {"a mark that says no", `{"_hubClusterResource":"false"}`, Item{}, false},
		"number":         {"a number where a text belongs is odd", `{"name":1}`, Item{}, true},
		"object":         {"so is an object", `{"name":{"a":"b"}}`, Item{}, true},
		"message number": {"so is a condition of another type", `{"_conditionXError":1}`, Item{}, true},
		"uids text":      {"so is a text in place of a list", `{"_relatedUids":"a"}`, Item{}, true},
		"uids numbers":   {"so are numbers in it", `{"_relatedUids":[1]}`, Item{}, true},
		"no object":      {"so is a row that is no object", `"row"`, Item{}, true},
		"null row":       {"so is null", `null`, Item{}, true},
		"list row":       {"so is a list", `[]`, Item{}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newRows().item([]byte(tc.json))
			if tc.fails != (err != nil) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err == nil && !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%s:\n got %+v\nwant %+v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDecode_namesAndSkipsOddRows(t *testing.T) {
	r, err := only(decode([]byte(`{"data":{"searchResult":[{"count":4,"items":[{"_uid":"c/1","name":"good"},{"_uid":"c/2","name":7},{"name":"nameless"},null]}]}}`), anyRoom))
	if err != nil {
		t.Fatalf("an odd row was sent all the same: %v", err)
	}
	if len(r.Items) != 1 || len(r.Odd) != 3 || !strings.Contains(r.Odd[0], "c/2") || !strings.Contains(r.Odd[1], "nameless") {
		t.Errorf("%+v", r)
	}
}

func TestRelated_mustBeWhole(t *testing.T) {
	cluster := Item{UID: "cluster__c", Kind: "Cluster", Name: "c", Cluster: "c", RelatedUIDs: []string{"c/1"}}
	object := Item{UID: "c/o", Kind: "ConfigMap", Cluster: "c", RelatedUIDs: []string{"c/1"}}
	tests := map[string]struct {
		reason  string
		related []Item
		whole   bool
	}{
		"whole":           {"an object, its Application and its cluster", []Item{object, cluster}, true},
		"empty":           {"nothing can be said", nil, true},
		"cluster only":    {"an Application whose objects are all excluded", []Item{cluster}, true},
		"no cluster":      {"424 of 500 clusters in a cut answer", []Item{object}, false},
		"no application":  {"the cluster's own relations are cut", []Item{{UID: "cluster__c", Kind: "Cluster", Name: "c", Cluster: "c"}, object}, false},
		"another cluster": {"each cluster for itself", []Item{cluster, object, {UID: "d/o", Kind: "ConfigMap", Cluster: "d", RelatedUIDs: []string{"d/1"}}}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := related(&Result{Related: tc.related}); (err == nil) != tc.whole {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// FuzzDecode mutates recorded answers of the real service. The decoder must not panic, and must not return
// more rows than the answer has.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	for _, file := range files {
		s := load(f, strings.TrimSuffix(filepath.Base(file), ".json"))
		f.Add(s.body())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = scan(data)
		a, err := decode(data, anyRoom)
		if KindOf(err) == KindIncomplete && json.Valid(data) {
			t.Error("a whole answer looks cut")
		}
		if err != nil {
			return
		}
		if cut := bytes.TrimSpace(data); len(cut) > 0 {
			if _, err := decode(cut[:len(cut)-1-len(cut)/3], anyRoom); err == nil {
				t.Error("a cut answer looks whole")
			}
		}
		if r, err := only(a, nil); err == nil && r.Digest != (Digest{}) {
			if again := unchanged(data, r.Digest); again != nil && again.Count != len(r.Items) {
				t.Errorf("%d rows scanned, %d decoded", again.Count, len(r.Items))
			}
		}
		for i := range a.results {
			r := &a.results[i]
			if r.Count >= 0 && r.Digest.Items.Rows < len(r.Items) {
				t.Errorf("%d rows made of %d", len(r.Items), r.Digest.Items.Rows)
			}
			_ = related(r)
			for _, it := range r.Items {
				if it.UID == "" {
					t.Error("a row without _uid")
				}
			}
		}
	})
}

// fleetAnswer returns an answer with 10 Applications per cluster and 10 resources each, in the real
// service's format.
func fleetAnswer(clusters int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"data":{"searchResult":[{"count":%d,"items":[`, clusters*10)
	comma := ""
	for c := range clusters {
		for a := range 10 {
			fmt.Fprintf(&b, `%s{"_hostingResource":"ApplicationSet/argocd/set-%d","_uid":"cluster-%d/3d3e82f5-07c2-48c6-5b7a-%012d","apigroup":"argoproj.io","apiversion":"v1alpha1","applicationSet":"","chart":"","cluster":"cluster-%d","created":"2025-11-20T10:00:00Z","destinationName":"","destinationNamespace":"guestbook","destinationServer":"https://kubernetes.default.svc","healthStatus":"Healthy","kind":"Application","kind_plural":"applications","label":"apps.open-cluster-management.io/application-set=true","name":"app-%d-%d","namespace":"argocd","path":"guestbook","repoURL":"https://github.com/example/apps","syncStatus":"Synced","targetRevision":"main"}`, comma, a, c, a, c, a, c)
			comma = ","
		}
	}
	b.WriteString(`],"related":[{"kind":"ConfigMap","items":[`)
	comma = ""
	for c := range clusters {
		for a := range 10 {
			for r := range 10 {
				fmt.Fprintf(&b, `%s{"_relatedUids":["cluster-%d/3d3e82f5-07c2-48c6-5b7a-%012d"],"_uid":"cluster-%d/0da0e600-0936-0377-%04d-%012d","apiversion":"v1","cluster":"cluster-%d","created":"2025-11-20T10:00:00Z","kind":"ConfigMap","kind_plural":"configmaps","label":"app=guestbook; app.kubernetes.io/instance=app-%d-%d","name":"config-%d-%d","namespace":"guestbook"}`, comma, c, a, c, a, r, c, a, c, a, r)
				comma = ","
			}
		}
	}
	b.WriteString(`]},{"kind":"Cluster","items":[`)
	comma = ""
	for c := range clusters {
		fmt.Fprintf(&b, `%s{"_uid":"cluster__cluster-%d","kind":"Cluster","name":"cluster-%d","cluster":"cluster-%d","_relatedUids":[`, comma, c, c, c)
		comma = ""
		for a := range 10 {
			fmt.Fprintf(&b, `%s"cluster-%d/3d3e82f5-07c2-48c6-5b7a-%012d"`, comma, c, a)
			comma = ","
		}
		b.WriteString("]}")
	}
	b.WriteString(`]}]}]}}`)
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	body := fleetAnswer(50)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		a, err := decode(body, anyRoom)
		if err != nil || len(a.results[0].Related) != 5050 {
			b.Fatal(err, len(a.results[0].Related))
		}
	}
}

func TestLine(t *testing.T) {
	if got := line("a\nb\t" + strings.Repeat("ü", 200)); len(got) > 210 || strings.Contains(got, "\n") || !strings.HasSuffix(got, "...") {
		t.Errorf("%q", got)
	}
}

// BenchmarkDecode_jsonValid is the reference for BenchmarkDecode: encoding/json reads the same bytes once.
func BenchmarkDecode_jsonValid(b *testing.B) {
	body := fleetAnswer(50)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if !json.Valid(body) {
			b.Fatal()
		}
	}
}
