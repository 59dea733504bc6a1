// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
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
