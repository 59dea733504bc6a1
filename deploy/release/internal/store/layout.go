// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps images in OCI layouts and copies them to a registry.
package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// tagAnnotation has the tag of a manifest in a layout.
const tagAnnotation = "org.opencontainers.image.ref.name"

// Write writes an OCI layout with one tagged index at path. It replaces the existing one
// completely, or not at all after an error.
func Write(path string, index v1.ImageIndex, tag string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(path), ".layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // it does not exist any more after success
	folder, err := layout.Write(fresh, empty.Index)
	if err != nil {
		return fmt.Errorf("start the layout %s: %w", path, err)
	}
	if err := folder.AppendIndex(index, layout.WithAnnotations(map[string]string{tagAnnotation: tag})); err != nil {
		return fmt.Errorf("write the layout %s: %w", path, err)
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), os.Rename(fresh, path))
}

// Read returns the index of the layout at path, and its tag.
func Read(path string) (v1.ImageIndex, string, error) {
	root, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return nil, "", fmt.Errorf("open the layout %s: %w", path, err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, "", fmt.Errorf("read the layout %s: %w", path, err)
	}
	if len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		return nil, "", fmt.Errorf("the layout %s holds other than one image", path)
	}
	only := manifest.Manifests[0]
	index, err := root.ImageIndex(only.Digest)
	return index, only.Annotations[tagAnnotation], err
}

// Find returns the layouts below a folder by their relative paths, which are also their
// repositories in a registry.
func Find(folder string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "oci-layout" {
			return err
		}
		name, err := filepath.Rel(folder, filepath.Dir(path))
		out = append(out, filepath.ToSlash(name))
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s holds no OCI layout; make images first", folder)
	}
	return out, err
}
