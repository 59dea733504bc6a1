// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// These rows are in the answer that the tests below change.
const (
	app1    = `{"_uid":"c/1","kind":"Application","name":"a","cluster":"c","_missingResources":"[{\"kind\":\"Secret\"},{\"kind\":\"Job\"}]"}`
	app2    = `{"_uid":"c/2","kind":"Application","name":"b","cluster":"c"}`
	object1 = `{"_relatedUids":["c/1"],"_uid":"c/3","kind":"ConfigMap","name":"x","cluster":"c"}`
	object2 = `{"_uid":"c/4","kind":"Secret","name":"y","cluster":"c","_relatedUids":["c/1","c/2"]}`
	node    = `{"_uid":"cluster__c","kind":"Cluster","name":"c","cluster":"c","_relatedUids":["c/1","c/2"]}`
)

type group struct {
	kind string
	rows []string
}

// response returns an answer with these rows.
func response(count int, items []string, related ...group) string {
	groups := make([]string, 0, len(related))
	for _, g := range related {
		groups = append(groups, fmt.Sprintf(`{"kind":%q,"items":[%s]}`, g.kind, strings.Join(g.rows, ",")))
	}
	return fmt.Sprintf(`{"data":{"searchResult":[{"count":%d,"items":[%s],"related":[%s]}]}}`, count, strings.Join(items, ","), strings.Join(groups, ","))
}

func baseResponse() string {
	return response(2, []string{app1, app2}, group{"ConfigMap", []string{object1}}, group{"Secret", []string{object2}}, group{"Cluster", []string{node}})
}

func digestOf(t *testing.T, body string) Digest {
	t.Helper()
	r, err := only(decode([]byte(body), anyRoom))
	if err != nil || r.Digest == (Digest{}) {
		t.Fatalf("%v: %s", err, body)
	}
	return r.Digest
}

func TestDigest(t *testing.T) {
	apps := []string{app1, app2}
	cm, secret, cluster := group{"ConfigMap", []string{object1}}, group{"Secret", []string{object2}}, group{"Cluster", []string{node}}
	base := baseResponse()
	replaced := func(from, to string) string {
		if !strings.Contains(base, from) {
			t.Fatalf("%q is not in the answer", from)
		}
		return strings.Replace(base, from, to, 1)
	}
	tests := []struct {
		reason, body string
		same         bool
	}{
		{"the same bytes", base, true},
		{"items in another order", response(2, []string{app2, app1}, cm, secret, cluster), true},
		{"kinds in another order", response(2, apps, cluster, secret, cm), true},
		{"rows of a kind in another order, kinds are not what counts", response(2, apps, group{"Any", []string{node, object2, object1}}), true},
		{"a newline behind each row", response(2, []string{app1 + "\n", app2 + "\n"}, group{"Any", []string{object1 + "\n", object2 + "\n", node + "\n"}}), true},
		{"white space around lists", replaced(`"data":{`, "\"data\" : \n\t{"), true},
		{"data that was not asked for", replaced(`"data":{`, `"extensions":{"x":[1,{}]},"data":{`), true},
		{"a byte of an item", replaced(`"name":"a"`, `"name":"A"`), false},
		{"a byte of a related row", replaced(`"name":"y"`, `"name":"z"`), false},
		{"a byte that is not read is a byte", replaced(`"cluster":"c"}`, `"cluster":"c","x":""}`), false},
		{"a byte of a row with escapes", replaced(`\"Job\"`, `\"Jab\"`), false},
		{"properties in another order are other bytes", replaced(app2, `{"kind":"Application","_uid":"c/2","name":"b","cluster":"c"}`), false},
		{"two rows swap a text", response(2, []string{strings.Replace(app1, `"a"`, `"b"`, 1), strings.Replace(app2, `"b"`, `"a"`, 1)}, cm, secret, cluster), false},
		{"a lost item, and the count knows", response(1, []string{app1}, cm, secret, cluster), false},
		{"a lost item that the count does not know of", response(2, []string{app1}, cm, secret, cluster), false},
		{"a lost related row", response(2, apps, cm, cluster), false},
		{"no related rows", response(2, apps), false},
		{"null in place of related rows", `{"data":{"searchResult":[{"count":2,"items":[` + app1 + "," + app2 + `],"related":null}]}}`, false},
		{"a doubled item", response(3, []string{app1, app2, app2}, cm, secret, cluster), false},
		{"a doubled related row", response(2, apps, cm, cm, secret, cluster), false},
		{"a row twice in place of another", response(2, []string{app1, app1}, cm, secret, cluster), false},
		{"an item among the related rows", response(1, []string{app1}, cm, secret, cluster, group{"Application", []string{app2}}), false},
		{"a related row among the items", response(3, []string{app1, app2, object1}, secret, cluster), false},
		{"items and related rows change places", response(3, []string{object1, object2, node}, group{"Application", apps}), false},
		{"another count", replaced(`"count":2`, `"count":3`), false},
		{"no count", replaced(`"count":2,`, ``), false},
		{"an error of the answer", replaced(`{"data"`, `{"errors":[{"message":"no"}],"data"`), false},
		{"an error of this result", replaced(`{"data"`, `{"errors":[{"message":"no","path":["searchResult",0]}],"data"`), false},
		{"an error of another result", replaced(`{"data"`, `{"errors":[{"message":"no","path":["searchResult",1]}],"data"`), false},
		{"items null", `{"data":{"searchResult":[{"count":2,"items":null,"related":null}]}}`, false},
		{"no answer", `{"data":{"searchResult":null}}`, false},
		{"a second result", replaced(`"searchResult":[`, `"searchResult":[{"count":0,"items":[],"related":null},`), false},
		{"a cut answer", base[:len(base)-1], false},
		{"more than an answer", base + base, false},
		{"nothing", ``, false},
	}
	last := digestOf(t, base)
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			r := unchanged([]byte(tc.body), last)
			if (r != nil) != tc.same {
				t.Errorf("taken for the same: %v", r != nil)
			}
			if r != nil && (!r.Unchanged || r.Digest != last || r.Items != nil || r.Related != nil) {
				t.Errorf("%+v", r)
			}
			if decoded, err := only(decode([]byte(tc.body), anyRoom)); (err == nil && decoded.Digest == last) != tc.same {
				t.Errorf("decoded: %v, %+v", err, decoded)
			}
		})
	}
}

// These differences cannot occur in the answer of TestDigest.
func TestDigest_differsForOtherAnswers(t *testing.T) {
	rows := func(rows ...string) string { return response(2, []string{app1, app2}, group{"Any", rows}) }
	for _, tc := range []struct{ reason, one, other string }{
		{"an even number of times is not never", rows(node, object1, object1), rows(node, node, node)},
		{"null is not an empty list", response(1, []string{app1}), strings.Replace(response(1, []string{app1}), `[]}]}}`, `null}]}}`, 1)},
	} {
		if tc.one == tc.other || unchanged([]byte(tc.other), digestOf(t, tc.one)) != nil || unchanged([]byte(tc.one), digestOf(t, tc.other)) != nil {
			t.Error(tc.reason)
		}
	}
}

// Any change of a byte either changes the digest, or does not change the decoded result.
func TestDigest_detectsAnyChangedByte(t *testing.T) {
	base := baseResponse()
	last := digestOf(t, base)
	want, err := only(decode([]byte(base), anyRoom))
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := range base {
		for _, c := range []byte(`{}[]",:\ nx0` + string([]byte{base[i], base[i] ^ 1})) {
			body := []byte(base)
			body[i] = c
			if unchanged(body, last) == nil {
				continue
			}
			same++
			got, err := only(decode(body, anyRoom))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the same with %q at %d: %s: %v", c, i, body, err)
			}
		}
	}
	if same < len(base) {
		t.Errorf("%d changes that are none, and there were %d bytes for themselves", same, len(base))
	}
}

// Brackets and quotes in a row's texts do not end the row.
func TestDigest_ignoresBracketsInTexts(t *testing.T) {
	row := func(text string) string { return fmt.Sprintf(`{"_uid":"c/1","x":%s,"cluster":"c"}`, text) }
	texts := []string{`"}"`, `"]}"`, `"},{"`, `"]},{"`, `"x\\"`, `"x\"}"`, `"\\\"},{"`, `{"y":"z"}`, `[{"y":"z"}]`, `[["z"],{}]`, `{}`, `1`, `null`}
	for _, one := range texts {
		answer := response(2, []string{row(one), app2})
		r, err := only(decode([]byte(answer), anyRoom))
		if err != nil || len(r.Items) != 2 || r.Digest == (Digest{}) {
			t.Fatalf("%s: %v %+v", one, err, r)
		}
		for _, other := range texts {
			if same := unchanged([]byte(response(2, []string{row(other), app2})), r.Digest) != nil; same && one != other {
				t.Errorf("%s is taken for %s", other, one)
			}
		}
	}
}

// scan finds the real service's rows without parsing them as JSON.
func TestScan_findsRowsOfARecordedAnswer(t *testing.T) {
	var body bytes.Buffer
	recorded := load(t, "01-success-two-clusters")
	if err := json.Compact(&body, recorded.body()); err != nil {
		t.Fatal(err)
	}
	if short, sums := outline(body.Bytes()); len(sums) != 7 || len(short) > 300 {
		t.Errorf("rows of %d lists are left out: %s", len(sums), short)
	}
	whole, err := decode(body.Bytes(), anyRoom)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := scan(body.Bytes()); err != nil || again.results[0].Digest != whole.results[0].Digest {
		t.Errorf("%v: another digest", err)
	}
}

func TestClient_doesNotDecodeUnchangedAnswers(t *testing.T) {
	body := baseResponse()
	c, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	ask := func(last Digest) *Result {
		t.Helper()
		r, err := c.Applications(t.Context(), []string{"c"}, last)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := ask(Digest{})
	if first.Unchanged || len(first.Items) != 2 || len(first.Related) != 3 {
		t.Fatalf("the first one: %+v", first)
	}
	kept := slices.Clone(first.Items)
	if r := ask(first.Digest); !r.Unchanged || r.Count != 2 || r.Digest != first.Digest || r.Items != nil || r.Related != nil {
		t.Errorf("the same again: %+v", r)
	}
	body = strings.ReplaceAll(body, "c/", "d/")
	changed := ask(first.Digest)
	if changed.Unchanged || len(changed.Items) != 2 || changed.Digest == first.Digest {
		t.Errorf("another one: %+v", changed)
	}
	if !reflect.DeepEqual(first.Items, kept) || first.Items[0].UID != "c/1" {
		t.Errorf("the first one is gone with its bytes: %+v", first.Items)
	}
	body = strings.Replace(body, `"name":"a"`, `"name":7`, 1)
	if r := ask(changed.Digest); r.Unchanged || r.Digest != (Digest{}) || len(r.Odd) != 1 {
		t.Errorf("an odd row is to be looked at each time: %+v", r)
	}
	for _, body = range []string{emptyAnswer, response(0, nil)} {
		if r := ask(Digest{}); r.Unchanged {
			t.Errorf("unchanged since when: %+v", r)
		}
	}
}

// BenchmarkScan compares two ways to detect an unchanged answer: by its outline, and by parsing each row as
// JSON.
func BenchmarkScan(b *testing.B) {
	body := fleetAnswer(50)
	r, err := only(decode(body, anyRoom))
	if err != nil {
		b.Fatal(err)
	}
	for name, scan := range map[string]func([]byte) (*answer, error){
		"outline": scan, "json": func(body []byte) (*answer, error) { return walk(body, &stream{}) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if again, err := only(scan(body)); err != nil || again.Digest != r.Digest {
					b.Fatal(err)
				}
			}
		})
	}
}
