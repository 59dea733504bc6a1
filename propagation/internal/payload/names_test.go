// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestHubDestination(t *testing.T) {
	for spec, want := range map[string]string{
		`{"destination":{"name":"c1","namespace":"n"}}`: "c1",
		`{"destination":{"server":"https://x"}}`:        "",
		`{"destination":null}`:                          "",
		`{"destination":{"name":7}}`:                    "",
		`[]`:                                            "",
		``:                                              "",
	} {
		if got := HubDestination(&argocd.Application{Spec: json.RawMessage(spec)}); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

// The work agent can create its AppliedManifestWork for an Application of any name. The AppliedManifestWork
// has the hub's hash, a hyphen and the work's name as its name.
func TestWorkNames_leaveRoomForTheAgentsPrefix(t *testing.T) {
	const room = 253 - 65
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 253), UID: "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"}}
	names := WorkNames(app)
	for _, name := range names {
		if len(name) > room {
			t.Errorf("%d characters: %s", len(name), name)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 4 {
		t.Errorf("two of the names are the same: %v", names)
	}
}

// An Application that is renamed repeatedly has a work name for each identity, even while former
// ManifestWorks wait for an unavailable agent. Such a name proves nothing.
func TestWorkNames_haveOneForEachIdentity(t *testing.T) {
	app := &argocd.Application{}
	app.Namespace, app.Name, app.UID = "team", "shop", "0123456789abcdef"
	seen := map[string]bool{}
	for _, namespace := range []string{"n1", "n2", "n3", "n4"} {
		app.Annotations = map[string]string{contract.AppNamespaceAnnotation: namespace}
		names := WorkNames(app)
		last := names[len(names)-1]
		if seen[last] || ProvenByName(app, last) || !ProvenByName(app, names[0]) {
			t.Errorf("in namespace %s its last name is %s", namespace, last)
		}
		seen[last] = true
	}
}
