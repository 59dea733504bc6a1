// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The chart and the overlays render the same objects, except for the namespace, which Helm's own flag
// creates.
func TestChart_equalsTheOverlays(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			want := byIdentity(t, kustomize(t, v.overlay))
			delete(want, "v1 Namespace /"+namespace)
			if diff := cmp.Diff(want, byIdentity(t, chart(t, v.values...))); diff != "" {
				t.Errorf("overlays/%s (-) and the chart with %q (+) differ:\n%s", v.overlay, v.values, diff)
			}
		})
	}
}

func TestInstallFile_equalsTheOverlay(t *testing.T) {
	want := byIdentity(t, kustomize(t, "ocm"))
	if diff := cmp.Diff(want, byIdentity(t, parse(t, readFile(t, deployPath("install.yaml"))))); diff != "" {
		t.Errorf("overlays/ocm (-) and install.yaml (+) differ, run deploy/generate.sh:\n%s", diff)
	}
}

// Each overlay changes exactly the kinds that it is for.
func TestOverlays_changeOnlyTheirKinds(t *testing.T) {
	cases := []struct{ overlay, kinds, reason string }{
		{"ha", "Deployment", "a second replica and where it goes"},
		{"rhacm", "Deployment Role RoleBinding Service", "Argo CD's namespace, and a certificate for the metrics"},
	}
	base := byIdentity(t, kustomize(t, "ocm"))
	for _, c := range cases {
		t.Run(c.overlay, func(t *testing.T) {
			changed := map[string]bool{}
			overlay := byIdentity(t, kustomize(t, c.overlay))
			for id := range overlay {
				if !cmp.Equal(base[id], overlay[id]) {
					changed[strings.Fields(id)[1]] = true
				}
			}
			if got := strings.Join(slices.Sorted(maps.Keys(changed)), " "); got != c.kinds {
				t.Errorf("changed kinds: %s, want %s: %s", got, c.kinds, c.reason)
			}
		})
	}
}
