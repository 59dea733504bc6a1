// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import "testing"

// aggregation and resourcesync use one rule. Earlier, aggregation listed a resource without a kind, and
// resourcesync did not.
func TestIsReportedKind(t *testing.T) {
	for kind, want := range map[string]bool{
		"Deployment": true, "Service": true, "pod": true, "Cluster": true, "AppProject": true,
		"": false, "Application": false, "ApplicationSet": false, "EndpointSlice": false, "Pod": false, "ReplicaSet": false,
	} {
		if got := IsReportedKind(kind); got != want {
			t.Errorf("kind %q: got %t", kind, got)
		}
	}
}
