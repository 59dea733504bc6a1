// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
)

const ours = "multicluster-integrations"

func event(stage, verb, object, uri string) string {
	return `{"kind":"Event","stage":"` + stage + `","verb":"` + verb + `","requestURI":"` + uri + `","user":{"username":"system:serviceaccount:multicluster-integrations:propagation"},` +
		object + `"responseStatus":{"code":200},"stageTimestamp":"2026-11-21T01:02:03.456789Z"}`
}

func TestParse(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 456789000, time.UTC)
	cases := map[string]struct {
		reason string
		line   string
		want   Entry
		ok     bool
	}{
		"create": {
			"a finished request counts", event("ResponseComplete", "create", `"objectRef":{"resource":"manifestworks","namespace":"c1","name":"w"},`, "/x"),
			Entry{Account: "propagation", Verb: "create", Resource: "manifestworks", Namespace: "c1", Name: "w", Code: 200, Done: at}, true,
		},
		"subresource": {
			"a subresource is a resource of its own", event("ResponseComplete", "patch", `"objectRef":{"resource":"manifestworks","subresource":"status","name":"w"},`, "/x"),
			Entry{Account: "propagation", Verb: "patch", Resource: "manifestworks/status", Name: "w", Code: 200, Done: at}, true,
		},
		"path": {
			"what is no resource is known by its path", event("ResponseComplete", "get", "", "/api"),
			Entry{Account: "propagation", Verb: "get", Resource: "/api", Code: 200, Done: at}, true,
		},
		"watch begins": {
			"a watch counts when it begins", event("ResponseStarted", "watch", `"objectRef":{"resource":"applications"},`, "/x"),
			Entry{Account: "propagation", Verb: "watch", Resource: "applications", Code: 200, Done: at}, true,
		},
		"watch ends": {
			"its end is no second request", event("ResponseComplete", "watch", `"objectRef":{"resource":"applications"},`, "/x"),
			Entry{Account: "propagation", Verb: "watch", Resource: "applications", Code: 200, Done: at}, false,
		},
		"long answer": {
			"the beginning of an answer is no request either", event("ResponseStarted", "list", `"objectRef":{"resource":"applications"},`, "/x"),
			Entry{Account: "propagation", Verb: "list", Resource: "applications", Code: 200, Done: at}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok, err := Parse([]byte(c.line))
			if err != nil || ok != c.ok || got != c.want {
				t.Errorf("%s: got %+v, %v, %v; want %+v, %v", c.reason, got, ok, err, c.want, c.ok)
			}
		})
	}
	if _, _, err := Parse([]byte(`{"stage":`)); err == nil {
		t.Error("half a line is taken for a whole one")
	}
}

func TestWrite(t *testing.T) {
	cases := map[string]struct {
		reason string
		entry  Entry
		want   bool
	}{
		"create":      {"a new object is a write", Entry{Verb: "create", Resource: "manifestworks"}, true},
		"patch":       {"so is a change", Entry{Verb: "patch", Resource: "applications"}, true},
		"event":       {"an Event about an Application is one", Entry{Verb: "create", Resource: "events", Namespace: "argocd"}, true},
		"own event":   {"the Event about the Lease is not", Entry{Verb: "create", Resource: "events", Namespace: ours}, false},
		"lease":       {"nor is the Lease", Entry{Verb: "update", Resource: "leases", Namespace: ours}, false},
		"review":      {"a question is not, though it is posted", Entry{Verb: "create", Resource: "subjectaccessreviews"}, false},
		"list":        {"reading is not", Entry{Verb: "list", Resource: "manifestworks"}, false},
		"wholesale":   {"deleting many at once is", Entry{Verb: "deletecollection", Resource: "manifestworks"}, true},
		"foreign set": {"the namespace excuses nothing but Events", Entry{Verb: "create", Resource: "secrets", Namespace: ours}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.entry.Write(ours); got != c.want {
				t.Errorf("%s: got %v", c.reason, got)
			}
		})
	}
}

func TestPolicy_logsTheProductAndTheBaseline(t *testing.T) {
	var policy struct {
		Kind  string
		Rules []struct {
			Level                  string
			UserGroups, Namespaces []string
		}
	}
	raw, err := Policy(ours, []string{"baseline"})
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &policy); err != nil {
		t.Fatal(err)
	}
	if policy.Kind != "Policy" || len(policy.Rules) != 3 || policy.Rules[0].UserGroups[0] != "system:serviceaccounts:"+ours ||
		policy.Rules[1].Namespaces[0] != "baseline" || policy.Rules[2].Level != "None" {
		t.Errorf("got %+v", policy)
	}
}
