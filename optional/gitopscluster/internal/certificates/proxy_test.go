// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"strings"
	"testing"
)

// The config of a cluster's Secret differs from the config of another cluster, and is the same after a
// restart.
func TestProxyConfig_isUniqueAndRepeatable(t *testing.T) {
	f := newFleet(t, "c1")
	one, digest, err := f.state.ProxyConfig("c1")
	if err != nil {
		t.Fatal(err)
	}
	f.restart(nil)
	state := f.ensure()
	two, again, err := state.ProxyConfig("c1")
	if err != nil || string(one) != string(two) || digest != again {
		t.Errorf("it is another after a restart, %v", err)
	}
	other, _, err := state.ProxyConfig("c2")
	if err != nil || string(other) == string(one) {
		t.Errorf("that of c2 is that of c1, %v", err)
	}
	if known, err := state.ProxyDigest("c1"); err != nil || known != digest {
		t.Errorf("digest %s, want %s, %v", known, digest, err)
	}
	for _, part := range []string{`{"tlsClientConfig":{"caData":"`, `"certData":"`, `"keyData":"`} {
		if !strings.Contains(string(one), part) {
			t.Errorf("%q is missing", part)
		}
	}
}
