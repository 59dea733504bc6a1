// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The component and the chart value of the live view add the same objects and change no other object.
func TestLiveView_isOffUnlessInstalled(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			plain, on := byIdentity(t, kustomize(t, v.overlay)), byIdentity(t, kustomize(t, v.overlay, "liveview"))
			chart := byIdentity(t, chart(t, append([]string{"liveview.enabled=true"}, v.values...)...))
			chart["v1 Namespace /"+namespace] = on["v1 Namespace /"+namespace]
			if diff := cmp.Diff(on, chart); diff != "" {
				t.Errorf("the component (-) and the chart (+) differ:\n%s", diff)
			}
			for id, o := range plain {
				if !cmp.Equal(o, on[id]) {
					t.Errorf("it changes %s", id)
				}
			}
		})
	}
}

// The Deployments of viewer and observer have the image of this version and a restricted security context.
func TestLiveView_hasRestrictedPodsOfThisVersion(t *testing.T) {
	version, _ := run(t, "go", "run", "./optional/liveview", "--leader-elect", "--version")
	observer, _ := run(t, "go", "run", "./optional/liveview/observer", "--version")
	if strings.Fields(version)[1] != strings.Fields(observer)[1] {
		t.Errorf("%s, but %s", version, observer)
	}
	image := "registry.invalid/multicluster-integrations/liveview:" + strings.Fields(version)[1]
	objects := append(parse(t, readFile(t, deployPath("liveview", "observer.yaml"))), kustomize(t, "ocm", "liveview")...)
	pods := 0
	for _, o := range objects {
		if o.GetKind() != "Deployment" || !slices.Contains([]string{"observer", namespace + "-liveview"}, o.GetName()) {
			continue
		}
		pods++
		container := field(t, o.Object, "spec", "template", "spec", "containers").([]any)[0].(map[string]any)
		if container["image"] != image {
			t.Errorf("%s: image %v, want %s", o.GetName(), container["image"], image)
		}
		want := map[string]any{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": map[string]any{"drop": []any{"ALL"}}}
		if diff := cmp.Diff(want, container["securityContext"]); diff != "" {
			t.Errorf("%s: %s", o.GetName(), diff)
		}
	}
	if pods != 2 {
		t.Errorf("%d Deployments, want viewer and observer", pods)
	}
}
