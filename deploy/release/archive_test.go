// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// TestArchive_holdsTheImagesUnderTheNamesOfTheManifests reads back the images that kind and others
// load.
func TestArchive_holdsTheImagesUnderTheNamesOfTheManifests(t *testing.T) {
	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "images.tar")
	want := map[string]v1.Image{}
	for _, container := range []string{"one", "two", "three"} {
		index := v1.ImageIndex(empty.Index)
		for _, architecture := range []string{"arm64", "amd64"} {
			image, err := random.Image(64, 1)
			if err != nil {
				t.Fatal(err)
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
			})
			if architecture == "amd64" {
				want["registry.invalid/project/"+container+":1.2.3"] = image
			}
		}
		if err := store.Write(filepath.Join(folder, "project", container), index, "1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	delete(want, "registry.invalid/project/three:1.2.3")
	for range 2 { // the second replaces the first
		if err := run(t.Context(), []string{"archive", "-from", folder, "-out", file, "-architecture", "amd64", "-containers", "one,two"}); err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil || len(manifest) != len(want) {
		t.Fatalf("the archive has %d images, %v, want %d", len(manifest), err, len(want))
	}
	for reference, image := range want {
		tag, err := name.NewTag(reference, name.StrictValidation)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := tarball.ImageFromPath(file, &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(loaded); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
		got, err := loaded.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		if config, err := image.ConfigName(); err != nil || got != config {
			t.Errorf("%s has configuration %s, want %s, %v", reference, got, config, err)
		}
	}
}

func TestArchive_namesWhatIsMissing(t *testing.T) {
	folder := t.TempDir()
	layoutOf(t, folder)
	for arguments, want := range map[string]string{
		"-architecture=amd64": "some/image: it has no image for linux/amd64",
		"-containers=other":   "is called [other]; there are [some/image]",
		"-registry=a:b:c":     "name the image of layout some/image",
	} {
		err := run(t.Context(), []string{"archive", "-from", folder, "-out", filepath.Join(folder, "images.tar"), arguments})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
}
