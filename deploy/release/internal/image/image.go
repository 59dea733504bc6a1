// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image builds images from binaries, without a container engine and without a base image.
// Equal input gives equal bytes.
package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

const (
	// User is user and group of every container. They are numbers, so that runAsNonRoot can be
	// checked.
	User = "65532:65532"
	// RootsPath is the first file in which Go and other programs search for certificates.
	RootsPath = "etc/ssl/certs/ca-certificates.crt"
	// UsersPath is the file in which container engines find a user's group. A kubelet passes the
	// number in User without the group. containerd then uses the group in this file, or root's.
	UsersPath = "etc/passwd"

	users = "nonroot:x:" + User + ":nonroot:/:/sbin/nologin\n"

	mayRun, mayRead, mayEnter = 0o555, 0o444, 0o755
)

// Build compiles a container's programs for an architecture of linux and builds its image: root
// certificates, users, licences, programs.
func Build(ctx context.Context, t *source.Tree, c source.Container, architecture string, labels map[string]string) (v1.Image, error) {
	roots, err := Roots()
	if err != nil {
		return nil, err
	}
	texts, err := licences(ctx, t, c, architecture)
	if err != nil {
		return nil, err
	}
	texts[RootsPath], texts[UsersPath] = roots, []byte(users)
	data, err := layer(mayRead, texts)
	if err != nil {
		return nil, err
	}
	binaries := map[string][]byte{}
	for _, p := range c.Programs {
		if binaries[p.Name], err = compile(ctx, t, c.Module, p, architecture); err != nil {
			return nil, err
		}
	}
	programs, err := layer(mayRun, binaries)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: t.Time}
	return assemble(architecture, v1.Config{
		User: User, Entrypoint: []string{"/" + c.Programs[0].Name}, WorkingDir: "/", Labels: labels,
		Env: []string{"SSL_CERT_FILE=/" + RootsPath},
	}, mutate.Addendum{Layer: data, History: v1.History{Created: created, CreatedBy: "root certificates, users and licences"}},
		mutate.Addendum{Layer: programs, History: v1.History{Created: created, CreatedBy: "go build " + c.Module}})
}

// Data builds an image of files, by their paths, that is not run.
func Data(architecture string, files map[string][]byte, labels map[string]string, created time.Time) (v1.Image, error) {
	data, err := layer(mayRead, files)
	if err != nil {
		return nil, err
	}
	return assemble(architecture, v1.Config{Labels: labels},
		mutate.Addendum{Layer: data, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "files"}})
}

// assemble builds an image of layers. Its creation time is the time of the first layer.
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

// plain is an image without an artifact type in the descriptor of an index. Runtimes may refuse to
// run an image that has one.
type plain struct{ v1.Image }

// ArtifactType is empty.
func (plain) ArtifactType() (string, error) { return "", nil }

// layer packs files of one mode by their paths, with their parent folders. root owns them, and they
// have no time.
func layer(mode int64, files map[string][]byte) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	epoch := time.Unix(0, 0).UTC()
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, folder := range foldersAbove(name) {
			if made[folder] {
				continue
			}
			made[folder] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: mayEnter, ModTime: epoch}); err != nil {
				return nil, err
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(files[name])), ModTime: epoch}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// foldersAbove returns the parent folders of a file: a, a/b for a/b/c.
func foldersAbove(name string) []string {
	var out []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		out = append(out, strings.TrimPrefix(dir, "/"))
	}
	slices.Reverse(out)
	return out
}
