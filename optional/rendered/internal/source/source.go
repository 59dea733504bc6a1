// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source reads the manifests of an Application's source: the files of a folder, or the
// output of Helm or Kustomize for the folder. It starts the tools that it finds in PATH, which are
// Argo CD's.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
)

// maxBytes is how much of one source is read: all Applications share the memory of the
// sidecar.
const maxBytes = 16 << 20

var errTooLarge = fmt.Errorf("the manifests of the source have more than %d MiB: divide it into several Applications", maxBytes>>20)

// Source is where an Application's manifests come from.
type Source struct {
	Dir         string // the source's folder on this machine
	Path        string // the same within the repository, as the Application names it
	Application string // Helm's release, unless a parameter names another
	parameters.Parameters
}

// Read returns the manifests as the source has them.
func (s Source) Read(ctx context.Context) ([]manifest.Manifest, error) {
	switch tool := s.tool(); tool {
	case parameters.Helm:
		args, err := s.helmArgs()
		if err != nil {
			return nil, err
		}
		return s.run(ctx, tool, args...)
	case parameters.Kustomize:
		return s.run(ctx, tool, "build", ".")
	default:
		return s.readFiles()
	}
}

func (s Source) tool() string {
	if s.Tool != parameters.Auto {
		return s.Tool
	}
	for _, c := range []struct{ file, tool string }{
		{"Chart.yaml", parameters.Helm},
		{"kustomization.yaml", parameters.Kustomize}, {"kustomization.yml", parameters.Kustomize}, {"Kustomization", parameters.Kustomize},
	} {
		if _, err := os.Stat(filepath.Join(s.Dir, c.file)); err == nil {
			return c.tool
		}
	}
	return parameters.Directory
}

// readFiles reads every YAML and JSON file of the folder and the folders in it. It follows links to
// files, but not out of the repository. It ignores hidden folders.
func (s Source) readFiles() ([]manifest.Manifest, error) {
	repository, dir, err := s.repository()
	if err != nil {
		return nil, err
	}
	defer func() { _ = repository.Close() }()
	var all []manifest.Manifest
	size := int64(0)
	err = fs.WalkDir(repository.FS(), dir, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != dir && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file)):
			return nil
		}
		info, err := repository.Stat(file)
		if err != nil || info.IsDir() {
			return err
		}
		if size += info.Size(); size > maxBytes {
			return errTooLarge
		}
		text, err := repository.ReadFile(file)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		manifests, err := manifest.Decode(name, text)
		all = append(all, manifests...)
		return err
	})
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("%s: %w", failed.Path, failed.Err)
	}
	return all, err
}

// repository opens the repository as a root that no path can leave, and returns the source's folder
// in it. Argo CD may pass only a part of the repository. The folders above the source's folder
// belong to it as far as the names agree.
func (s Source) repository() (root *os.Root, dir string, err error) {
	top, dir := filepath.Clean(s.Dir), "."
	for want := path.Clean(s.Path); want != "." && want != "/" && filepath.Base(top) == path.Base(want); want = path.Dir(want) {
		dir = path.Join(path.Base(want), dir)
		top = filepath.Dir(top)
	}
	root, err = os.OpenRoot(top)
	return root, dir, err
}
