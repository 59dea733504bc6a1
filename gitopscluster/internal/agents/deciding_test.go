// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"slices"
	"testing"
)

// A dry run changes nothing that the agents of another GitOpsCluster share, and neither does
// one without agents; alone it is planned.
func TestDeciding_leavesOutDryRunsBesideOthers(t *testing.T) {
	live, second := Ask{RotateCA: "live", Agent: &Agent{}}, Ask{RotateCA: "second", Agent: &Agent{}}
	dry, bare := Ask{RotateCA: "dry", Agent: &Agent{}, DryRun: true}, Ask{RotateCA: "bare", AtLeast: 5}
	for name, c := range map[string]struct {
		asks []Ask
		want []string
	}{
		"beside others":  {[]Ask{dry, live, bare, second}, []string{"live", "second"}},
		"alone":          {[]Ask{bare, dry}, []string{"dry"}},
		"without agents": {[]Ask{bare}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range (&view{asks: c.asks}).deciding() {
				got = append(got, a.RotateCA)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("deciding are %q, want %q", got, c.want)
			}
		})
	}
}
