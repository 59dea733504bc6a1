// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image makes images from binaries, without a container engine and without
// a base image. Equal input gives equal bytes.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// User and group of every container: numbers, so that runAsNonRoot can be checked.
	User = "65532:65532"
	// RootsPath is where Go and others look for certificates first.
	RootsPath = "etc/ssl/certs/ca-certificates.crt"

	mayRun, mayRead, mayEnter = 0o555, 0o444, 0o755
)

// Spec says what an image is made of.
type Spec struct {
	// Architecture is Go's name of it; the system is linux.
	Architecture string
	// Programs are paths of binaries by their names in the image.
	Programs map[string]string
	// EntryPoint is the program that is run.
	EntryPoint string
	Labels     map[string]string
	Created    time.Time
}

// New makes the image.
func New(s Spec) (v1.Image, error) {
	roots, err := Roots()
	if err != nil {
		return nil, err
	}
	rootsLayer, err := layer(file{path: RootsPath, mode: mayRead, content: roots})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(s.Programs))
	for name := range s.Programs {
		names = append(names, name)
	}
	slices.Sort(names)
	var programs []file
	for _, name := range names {
		content, err := os.ReadFile(s.Programs[name])
		if err != nil {
			return nil, err
		}
		programs = append(programs, file{path: name, mode: mayRun, content: content})
	}
	programLayer, err := layer(programs...)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: s.Created}
	return assemble(s.Architecture, v1.Config{
		User: User, Entrypoint: []string{"/" + s.EntryPoint}, WorkingDir: "/", Labels: s.Labels,
		Env: []string{"SSL_CERT_FILE=/" + RootsPath},
	}, mutate.Addendum{Layer: rootsLayer, History: v1.History{Created: created, CreatedBy: "root certificates"}},
		mutate.Addendum{Layer: programLayer, History: v1.History{Created: created, CreatedBy: "go build " + s.EntryPoint}})
}

// Data makes an image of files, by their paths, that is not run.
func Data(architecture string, files map[string][]byte, labels map[string]string, created time.Time) (v1.Image, error) {
	packed := make([]file, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		packed = append(packed, file{path: name, mode: mayRead, content: files[name]})
	}
	data, err := layer(packed...)
	if err != nil {
		return nil, err
	}
	return assemble(architecture, v1.Config{Labels: labels},
		mutate.Addendum{Layer: data, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "files"}})
}

// assemble makes an image of layers, as old as the first of them.
func assemble(architecture string, how v1.Config, layers ...mutate.Addendum) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, fmt.Errorf("add the layers: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", architecture, layers[0].History.Created
	config.Config = how
	img, err = mutate.ConfigFile(img, config)
	return plain{img}, err
}

// plain is an image whose descriptor in an index says no artifact type: runtimes may
// take what has one for something that is not to be run.
type plain struct{ v1.Image }

// ArtifactType is empty.
func (plain) ArtifactType() (string, error) { return "", nil }

type file struct {
	path    string
	mode    int64
	content []byte
}

// layer packs files, with the folders above them, owned by root and without a time.
func layer(files ...file) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	epoch := time.Unix(0, 0).UTC()
	made := map[string]bool{}
	for _, f := range files {
		for _, folder := range foldersAbove(f.path) {
			if made[folder] {
				continue
			}
			made[folder] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: mayEnter, ModTime: epoch}); err != nil {
				return nil, err
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: epoch}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// foldersAbove lists a, a/b for a/b/c.
func foldersAbove(name string) []string {
	var out []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		out = append(out, strings.TrimPrefix(dir, "/"))
	}
	slices.Reverse(out)
	return out
}
