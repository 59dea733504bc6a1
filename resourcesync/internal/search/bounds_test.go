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
