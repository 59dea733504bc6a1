// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An image without a registry is an image of docker.io, where anybody can register the organisation. So every
// manifest of the checkout names our images in a reserved domain that never exists. An installation sets its
// own registry.
func TestImages_haveAReservedRegistry(t *testing.T) {
	image := regexp.MustCompile(`(?m)^\s*-?\s*(?:image|newName): "?([^"\s]*multicluster-integrations/[^"\s]*)`)
	root, found := filepath.Join("..", "..", "deploy"), 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		for _, m := range image.FindAllStringSubmatch(string(content), -1) {
			found++
			if !strings.HasPrefix(m[1], "registry.invalid/") {
				t.Errorf("%s: image %s, want one below registry.invalid", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers(t, find(t, chart(t), "Deployment")) {
		found++
		if image, _ := c["image"].(string); !strings.HasPrefix(image, "registry.invalid/") {
			t.Errorf("the chart's defaults: image %s, want one below registry.invalid", image)
		}
	}
	if found < 9 { // base, install.yaml and the chart have three each
		t.Errorf("%d images: the search is broken", found)
	}
}
