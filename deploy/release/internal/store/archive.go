// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Archive writes the images of an architecture, from the layouts below folder, to one file in the
// format of docker save, and returns their names. Each name is a repository below registry.
// containers selects layouts by the last part of their path. Without containers all are selected.
func Archive(folder, file, registry, architecture string, containers []string) ([]string, error) {
	repositories, err := Find(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	images := map[name.Reference]v1.Image{}
	for _, repository := range repositories {
		if len(containers) > 0 && !slices.Contains(containers, path.Base(repository)) {
			continue
		}
		index, tag, err := Read(filepath.Join(folder, filepath.FromSlash(repository)))
		if err != nil {
			return nil, err
		}
		to, err := name.NewTag(registry+"/"+repository+":"+tag, name.StrictValidation)
		if err != nil {
			return nil, fmt.Errorf("name the image of layout %s: %w", repository, err)
		}
		image, err := imageFor(index, architecture)
		if err != nil {
			return nil, fmt.Errorf("read layout %s: %w", repository, err)
		}
		images[to] = image
		names = append(names, to.String())
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("no layout below %s is called %v; there are %v", folder, containers, repositories)
	}
	return names, writeArchive(file, images)
}

// imageFor returns the image of an architecture.
func imageFor(index v1.ImageIndex, architecture string) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		if d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == architecture {
			return index.Image(d.Digest)
		}
	}
	return nil, fmt.Errorf("it has no image for linux/%s", architecture)
}

// writeArchive replaces file after the whole archive is written.
func writeArchive(file string, images map[name.Reference]v1.Image) error {
	fresh := file + ".part"
	if err := tarball.MultiRefWriteToFile(fresh, images); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", file, err), os.Remove(fresh))
	}
	return os.Rename(fresh, file)
}
