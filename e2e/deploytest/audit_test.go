// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// auditPolicy records the requests of the accounts of our namespace, without content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts:` + namespace + `"]
  - level: None
`

// right is one permission of a role: a verb on a resource, in one namespace or, if namespace is empty, in
// all.
type right struct{ binary, group, resource, verb, namespace string }

func (r right) String() string {
	where := "everywhere"
	if r.namespace != "" {
		where = "in " + r.namespace
	}
	return fmt.Sprintf("%s: %s %s.%s %s", r.binary, r.verb, r.resource, r.group, where)
}

// grantedRights returns the permissions in the roles of each binary.
func grantedRights(t *testing.T, objects []*unstructured.Unstructured) map[right]bool {
	t.Helper()
	granted := map[right]bool{}
	for _, o := range objects {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		for _, r := range rightsOf(t, o) {
			r.binary, r.namespace = strings.TrimPrefix(o.GetName(), namespace+"-"), o.GetNamespace()
			granted[r] = true
		}
	}
	return granted
}

// rightsOf returns the permissions in the rules of a role.
func rightsOf(t *testing.T, role *unstructured.Unstructured) (rights []right) {
	t.Helper()
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range rules {
		r := each.(map[string]any)
		groups, _, _ := unstructured.NestedStringSlice(r, "apiGroups")
		resources, _, _ := unstructured.NestedStringSlice(r, "resources")
		verbs, _, _ := unstructured.NestedStringSlice(r, "verbs")
		for _, group := range groups {
			for _, resource := range resources {
				for _, verb := range verbs {
					rights = append(rights, right{group: group, resource: resource, verb: verb})
				}
			}
		}
	}
	return rights
}

// event is the part of an audit event that the tests read.
type event struct {
	Verb, RequestURI string
	User             struct{ Username string }
	ObjectRef        *struct{ Resource, Namespace, Name, APIGroup, Subresource string }
	ResponseStatus   struct{ Code int }
	Annotations      map[string]string
}

// auditEvents returns the requests of a binary's account so far.
func auditEvents(t *testing.T, binary string) []event {
	t.Helper()
	var events []event
	for line := range strings.Lines(readFile(t, auditLog)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			continue // the last line is still being written
		}
		if e.User.Username == "system:serviceaccount:"+namespace+":"+env.Account(binary) {
			events = append(events, e)
		}
	}
	return events
}

// spare are permissions that the scenario cannot use, and why they are needed.
var spare = map[string]string{
	"propagation: patch events.events.k8s.io everywhere":                                     counted,
	"aggregation: patch events.events.k8s.io everywhere":                                     counted,
	"propagation: patch events. in multicluster-integrations":                                counted,
	"aggregation: patch events. in multicluster-integrations":                                counted,
	"resourcesync: get searches/allManagedData.search.open-cluster-management.io everywhere": "search itself asks for it; that resourcesync gets an answer proves it",
}

const counted = "an Event that happens again within minutes is counted up by a patch"

// checkRights compares the requests of the binaries with the permissions of their roles. A rejected request
// shows a missing permission. An unused permission is not needed.
func checkRights(t *testing.T) {
	t.Helper()
	granted := grantedRights(t, kustomize(t, "ocm"))
	used := map[right]bool{}
	for _, binary := range binaries {
		events := auditEvents(t, binary)
		if len(events) == 0 {
			t.Errorf("the audit log has no request of %s", binary)
		}
		refused := map[string]bool{}
		for _, e := range events {
			if e.Annotations["authorization.k8s.io/decision"] != "allow" || e.ResponseStatus.Code == 403 {
				refused[e.Verb+" "+e.RequestURI] = true
			}
			if e.ObjectRef == nil {
				continue
			}
			resource := e.ObjectRef.Resource
			if e.ObjectRef.Subresource != "" {
				resource += "/" + e.ObjectRef.Subresource
			}
			for _, ns := range []string{"", e.ObjectRef.Namespace} {
				used[right{binary, e.ObjectRef.APIGroup, resource, e.Verb, ns}] = true
				if e.Verb == "watch" { // the server may stream a list as a watch
					used[right{binary, e.ObjectRef.APIGroup, resource, "list", ns}] = true
				}
			}
		}
		for what := range refused {
			t.Errorf("%s was refused: %s", binary, what)
		}
	}
	var unused []string
	for r := range granted {
		if !used[r] && spare[r.String()] == "" {
			unused = append(unused, r.String())
		}
	}
	for _, r := range slices.Sorted(slices.Values(unused)) {
		t.Errorf("never used: %s", r)
	}
	for what := range maps.Keys(spare) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(granted)), func(r right) bool { return r.String() == what }) {
			t.Errorf("excused but not granted: %s", what)
		}
	}
}
