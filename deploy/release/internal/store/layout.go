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

// tagAnnotation names the tag of a manifest in a layout.
const tagAnnotation = "org.opencontainers.image.ref.name"

// Entry is a manifest of a layout. Exactly one of Index and Image is set.
type Entry struct {
	Index v1.ImageIndex
	Image v1.Image
	// Tag is what the registry calls it; empty: it is found by its digest or as a
	// referrer.
	Tag string
}

// Write makes an OCI layout of entries at path, in place of what was there. Nobody
// sees half of one.
func Write(path string, entries ...Entry) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(path), ".layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // gone when all went well
	folder, err := layout.Write(fresh, empty.Index)
	if err != nil {
		return fmt.Errorf("start the layout %s: %w", path, err)
	}
	for _, e := range entries {
		if err := appendEntry(folder, e); err != nil {
			return fmt.Errorf("write the layout %s: %w", path, err)
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), os.Rename(fresh, path))
}

func appendEntry(folder layout.Path, e Entry) error {
	var options []layout.Option
	if e.Tag != "" {
		options = append(options, layout.WithAnnotations(map[string]string{tagAnnotation: e.Tag}))
	}
	if e.Index != nil {
		return folder.AppendIndex(e.Index, options...)
	}
	return folder.AppendImage(e.Image, options...)
}

// Read returns the entries of the layout at path, in their order.
func Read(path string) ([]Entry, error) {
	root, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return nil, fmt.Errorf("open the layout %s: %w", path, err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read the layout %s: %w", path, err)
	}
	var out []Entry
	for _, d := range manifest.Manifests {
		e := Entry{Tag: d.Annotations[tagAnnotation]}
		if d.MediaType.IsIndex() {
			e.Index, err = root.ImageIndex(d.Digest)
		} else {
			e.Image, err = root.Image(d.Digest)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of the layout %s: %w", d.Digest, path, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// Digest is the digest of an entry's manifest.
func (e Entry) Digest() (v1.Hash, error) {
	if e.Index != nil {
		return e.Index.Digest()
	}
	return e.Image.Digest()
}

// Find lists the layouts below a folder by their paths relative to it, which are also
// their repositories in a registry.
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
