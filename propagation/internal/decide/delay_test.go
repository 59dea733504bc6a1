// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
)

// Each object delays exactly these changes: the Application (A), the ApplicationSet (S), the Namespace (N),
// the cluster (C).
func TestDelay_dependsOnTheObjectAndTheChange(t *testing.T) {
	want := map[Change]string{Deliver: "ASNC", Remove: "ASN", Revoke: "N"}
	for change := Deliver; change <= Revoke; change++ {
		for speaker, letter := range map[Level]string{OnApplication: "A", OnApplicationSet: "S", OnNamespace: "N", OnCluster: "C"} {
			if got := delays[change][speaker]; got != strings.Contains(want[change], letter) {
				t.Errorf("speaker %s may delay change %d: %t", letter, change, got)
			}
		}
	}
}
