// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

// A managed cluster writes the rows and may run a modified collector, so the length and characters of each
// value are limited.
func TestItem_boundsEachValue(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		reason, key, value string
		odd                bool
	}{
		{"the longest name that Kubernetes has", "name", long(253), false},
		{"a longer one cannot be right, and would name something else when cut", "name", long(254), true},
		{"so does a kind", "kind", long(1 << 20), true},
		{"so does a namespace", "namespace", long(254), true},
		{"so does a version", "apiversion", long(254), true},
		{"so does a group", "apigroup", long(254), true},
		{"so does a state", "healthStatus", long(254), true},
		{"a UID begins with the cluster's name", "_uid", long(512), false},
		{"but it ends", "_uid", long(513), true},
		{"the longest ApplicationSet", "_hostingResource", "ApplicationSet/" + long(63) + "/" + long(253), false},
		{"a longer one", "_hostingResource", long(401), true},
		{"thousands of missing resources", "_missingResources", long(1 << 20), false},
		{"more", "_missingResources", long(1<<20 + 1), true},
		{"control characters are no part of a name", "name", "a\x1b[31mb", true},
		{"nor what turns text around", "name", "a\u202eb", true},
		{"nor line breaks", "namespace", "a\nb", true},
		{"other scripts may be", "name", "größe-名", false},
	}
	for _, tc := range tests {
		t.Run(tc.key+" "+tc.reason, func(t *testing.T) {
			row, err := json.Marshal(map[string]string{tc.key: tc.value})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := newRows().item(row); (err != nil) != tc.odd || err != nil && len(err.Error()) > 200 {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func TestItem_boundsMessages(t *testing.T) {
	tests := []struct{ reason, message, want string }{
		{"short ones stay", "ü<&>\n\t\"", "ü<&>\n\t\""},
		{"what the collector sends stays, its dots included", strings.Repeat("ü", 512) + "...", strings.Repeat("ü", 512) + "..."},
		{"longer ones are cut as it cuts them", strings.Repeat("ü", 516), strings.Repeat("ü", 512) + "..."},
		{"a megabyte", strings.Repeat("<", 1<<20), strings.Repeat("<", 512) + "..."},
		{"nothing turns text around", "a\u202eb", "a b"},
		{"an escape sequence says nothing to a terminal", "a\x1b[31mb\x00c\u0085d", "a [31mb c d"},
	}
	for _, tc := range tests {
		row, err := json.Marshal(map[string]string{"_conditionSyncError": tc.message})
		if err != nil {
			t.Fatal(err)
		}
		it, err := newRows().item(row)
		if err != nil || len(it.Conditions) != 1 {
			t.Fatalf("%s: %+v, %v", tc.reason, it, err)
		}
		if got := it.Conditions[0].Message; got != tc.want {
			t.Errorf("%s: %d bytes %.80q, want %d bytes", tc.reason, len(got), got, len(tc.want))
		}
	}
}

func TestItem_boundsConditions(t *testing.T) {
	row := map[string]string{"_condition" + strings.Repeat("x", 254): "too long a type", "_conditionÜ": "no type"}
	for i := range 1000 {
		row[fmt.Sprintf("_condition%dError", i)] = "m"
	}
	data, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	it, err := newRows().item(data)
	if err != nil || len(it.Conditions) != maxConditions {
		t.Errorf("%d conditions, %v; want %d", len(it.Conditions), err, maxConditions)
	}
	for _, c := range it.Conditions {
		if !strings.HasSuffix(c.Type, "Error") {
			t.Errorf("condition %.20q is none", c.Type)
		}
	}
}

// Small rows need several times the memory of their bytes. An answer of many of them counts as too large.
func TestClient_boundsTheMemoryOfRows(t *testing.T) {
	many := func(n int, format string) func(i int) string {
		return func(i int) string {
			values := make([]string, n)
			for k := range values {
				values[k] = strings.ReplaceAll(format, "#", fmt.Sprint(i*n+k))
			}
			return strings.Join(values, ",")
		}
	}
	tests := map[string]struct {
		row  func(i int) string // without its UID
		kind Kind
	}{
		"the smallest rows of the service": {func(i int) string {
			return fmt.Sprintf(`"_relatedUids":["c/3d3e82f5-07c2-48c6-5b7a-%012d"],"apiversion":"v1","cluster":"c","created":"2025-11-20T10:00:00Z",`+
				`"kind":"Pod","kind_plural":"pods","name":"%d"`, i%10, i)
		}, ""},
		"errors of Applications":        {many(5, `"_condition#Error":"`+strings.Repeat("x", 400)+`"`), ""},
		"other properties are not kept": {many(1000, `"#":0`), ""},
		"rows without properties":       {many(1, `"kind":"A"`), KindTooLarge},
		"short values": {func(i int) string {
			row := `"kind":"a#","name":"b#","namespace":"c#","apigroup":"d#","apiversion":"e#","cluster":"f#","healthStatus":"g#","syncStatus":"h#"`
			return strings.ReplaceAll(row, "#", fmt.Sprint(i))
		}, KindTooLarge},
		"short conditions": {func(int) string { return many(40, `"_condition#":"x"`)(0) }, KindTooLarge},
		"relations": {func(int) string {
			return `"_relatedUids":["a"` + strings.Repeat(`,"a"`, 1000) + `]`
		}, KindTooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var rows []string
			for size := 0; size < 1<<20-20<<10; size += len(rows[len(rows)-1]) + 1 {
				rows = append(rows, fmt.Sprintf(`{"_uid":"c/0da0e600-0936-0377-0000-%012d",%s}`, len(rows), tc.row(len(rows))))
			}
			c, _ := newClient(t, answers(fmt.Sprintf(`{"data":{"searchResult":[{"count":%d,"items":[%s]}]}}`, len(rows), strings.Join(rows, ","))))
			r, err := c.Clusters(t.Context())
			if KindOf(err) != tc.kind || err == nil && (len(r.Items) != len(rows) || len(r.Odd) != 0) {
				t.Errorf("%d rows: %v, want kind %q", len(rows), err, tc.kind)
			}
		})
	}
	d := &decoder{strings: map[string]string{}, room: 10 * itemSize}
	it, err := d.item([]byte(`{"_relatedUids":["a"` + strings.Repeat(`,"a"`, 10_000) + `]}`))
	if err == nil || len(it.RelatedUIDs) > 200 {
		t.Errorf("%d relations of one row are decoded, %v", len(it.RelatedUIDs), err)
	}
}

func TestClient_refusesOldTLS(t *testing.T) {
	a := newAuthority(t)
	server := httptest.NewUnstartedServer(answers(emptyAnswer))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, Certificates: []tls.Certificate{a.server(t, net.IPv4(127, 0, 0, 1))}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c, _ := newClient(t, answers(""))
	c.options.URL = server.URL
	writeFile(t, c.options.CAFile, certificate(a.cert))
	if err := applicationsOf(c); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v", err)
	}
}
