// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// A status that is larger than any of the controller's costs the report no more than this.
func TestCache_boundsWhatARolloutSays(t *testing.T) {
	huge := &rollout.Version{Revisions: slices.Repeat([]string{strings.Repeat("r", 10000)}, 100)}
	in := &rollout.ApplicationSetRollout{Status: rollout.Status{
		Phase: rollout.Halted, Group: strings.Repeat("g", 10000), Message: strings.Repeat("m", 100000), Promoted: huge, Candidate: huge,
		Clusters: make([]rollout.Cluster, 1000),
	}}
	out, err := Cache().Transform(in)
	if err != nil {
		t.Fatal(err)
	}
	s := out.(*rollout.ApplicationSetRollout).Status
	if len(s.Promoted.Revisions) != rollout.MaxSources || len(s.Candidate.Revisions[0]) > contract.MaxToken || len(s.Group) > contract.MaxToken ||
		len(s.Message) > contract.MaxMessage || s.Clusters != nil {
		t.Errorf("%d and %d revisions of %d bytes, a group of %d, a message of %d, %d clusters",
			len(s.Promoted.Revisions), len(s.Candidate.Revisions), len(s.Candidate.Revisions[0]), len(s.Group), len(s.Message), len(s.Clusters))
	}
	if len(huge.Revisions[0]) != 10000 {
		t.Error("the object that was trimmed has changed")
	}
}
