// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"maps"
	"slices"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// The demo deletes exactly the GitOpsClusters that it applies.
func TestDemo_deletesExactlyItsGitOpsClusters(t *testing.T) {
	var applied []string
	for _, file := range gitopsExamples {
		objects, err := env.ReadObjects(Examples(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == "GitOpsCluster" {
				applied = append(applied, o.GetName())
			}
		}
	}
	slices.Sort(applied)
	if taken := slices.Sorted(maps.Keys(gitopsClusters)); !slices.Equal(applied, taken) {
		t.Errorf("applied are %q, and taken away %q", applied, taken)
	}
}
