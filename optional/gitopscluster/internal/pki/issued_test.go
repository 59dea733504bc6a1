// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// An agent may still run with a certificate of the former CA. However often the cluster requests new
// certificates, that certificate's record stays, and the former CA stays trusted.
func TestAddIssued_keepsARecordOfTheFormerCA(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	value := ""
	add := func(name, ca string, minute int) {
		t.Helper()
		at := now.Add(time.Duration(minute) * time.Minute)
		next, err := AddIssued(value, Issued{SHA256: name, Request: name, CA: ca, Generation: 1, At: at, Expires: at.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		value = next
	}
	add("older", "former", 0)
	add("runs", "former", 1)
	for i := range 9 {
		add(fmt.Sprintf("new-%d", i), "signs", 2+i)
	}
	records := ParseIssued(value)
	if len(records) != 6 || records[0].SHA256 != "runs" || records[1].SHA256 != "new-4" || records[5].SHA256 != "new-8" {
		t.Fatalf("on record are %+v", records)
	}
	r := Report{Cluster: "c", Connected: true, Generation: 1, Issued: records, Holds: "runs", Started: true}
	if !r.uses("signs", now.Add(20*time.Minute)) {
		t.Error("nobody waits for the agent to leave the former CA")
	}
	for _, name := range []string{"new-4", "new-8"} {
		if r.Holds = name; r.uses("signs", now.Add(20*time.Minute)) {
			t.Errorf("an agent that runs with %s is waited for", name)
		}
	}
}

func TestAddIssued_keepsTheNewestRecords(t *testing.T) {
	add := func(value string, i Issued) string {
		t.Helper()
		text, err := AddIssued(value, i)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const many = newestRecords + 1 // one more than AddIssued keeps
	var all, same []Issued
	value := ""
	for i := range many {
		name := strconv.Itoa(i)
		all = append(all, Issued{SHA256: name, Request: name, At: day.Add(time.Duration(i))})
		same = append(same, Issued{SHA256: name, Request: name, At: day, Generation: 1 + i%2})
		value = add(value, all[i])
	}
	if got := ParseIssued(value); !slices.Equal(got, all[1:]) {
		t.Errorf("the newest are %v", got)
	}
	got := ParseIssued(add(value, Issued{SHA256: "other", Request: all[many-1].Request, At: day.Add(many)}))
	if !slices.Equal(got[:len(got)-1], all[1:many-1]) || got[len(got)-1].SHA256 != "other" {
		t.Errorf("a request has one certificate: %v", got)
	}
	if add(value, all[0]) != value {
		t.Error("an older one drove out a newer one")
	}
	value = ""
	for _, i := range same {
		value = add(value, i)
	}
	for _, i := range same {
		if add(value, i) != value {
			t.Error("of one second, each drives out the other")
		}
	}
	for _, broken := range []string{"A,B", "[", string(bytes.Repeat([]byte(" "), 5000)) + "[]"} {
		if got := ParseIssued(broken); got != nil {
			t.Errorf("%.10q: %v", broken, got)
		}
	}
}
