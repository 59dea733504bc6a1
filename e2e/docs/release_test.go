// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path"
	"strings"
	"testing"
)

// The page names each file that a release renders from an overlay, and each component with an image that a
// user has to build.
func TestReleasePage_hasEveryManifestAndImage(t *testing.T) {
	page := read(t, "docs/release.md")
	_, own, found := strings.Cut(page, "\n## Images of your own\n")
	if !found {
		t.Fatal("docs/release.md has no section on images of your own")
	}
	for _, file := range files(t, "deploy/overlays/*/kustomization.yaml") {
		name := "install-" + path.Base(path.Dir(file)) + ".yaml"
		if name = strings.Replace(name, "install-ocm.yaml", "install.yaml", 1); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("a release has %s, and the page does not name it", name)
		}
	}
	for _, file := range files(t, "optional/*/main.go") {
		if name := path.Base(path.Dir(file)); path.Dir(path.Dir(file)) == "optional" && !strings.Contains(own, "`"+name+"`") {
			t.Errorf("component %s has an image, and the section does not name it", name)
		}
	}
}
