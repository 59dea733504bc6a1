// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle builds the files of a release.
package bundle

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// Project is the first part of every repository's name.
const Project = "multicluster-integrations"

// Options are the settings of an image build.
type Options struct {
	// Architectures are Go's names of the architectures.
	Architectures []string
	// Tag is the tag of the images. If it is empty, the version of the containers is used.
	Tag string
	// Source is the public address of the repository, or empty if it is unknown.
	Source string
}

// Reference identifies a built image.
type Reference struct {
	// Name is the name of the container. Published is its repository in a registry.
	Name, Published, Tag string
	Digest               v1.Hash
}

// Pinned names the image by its digest.
func (r Reference) Pinned() string { return r.Published + "@" + r.Digest.String() }

// Build builds the image of a container for every architecture, as a layout below folder.
func Build(ctx context.Context, t *source.Tree, c source.Container, folder string, o Options) (Reference, error) {
	labels := labelsOf(t, c.Name, o)
	return write(c.Name, folder, labels, o, func(architecture string) (v1.Image, error) {
		return image.Build(ctx, t, c, architecture, labels)
	})
}

// write writes an index with an image for each architecture.
func write(name, folder string, labels map[string]string, o Options, build func(architecture string) (v1.Image, error)) (Reference, error) {
	reference := Reference{Name: name, Published: Project + "/" + name, Tag: o.Tag}
	index := mutate.Annotations(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), labels).(v1.ImageIndex) //nolint:forcetypeassert // Annotations returns what it was given
	for _, architecture := range o.Architectures {
		made, err := build(architecture)
		if err != nil {
			return reference, fmt.Errorf("make the image of %s for linux/%s: %w", name, architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	var err error
	if reference.Digest, err = index.Digest(); err != nil {
		return reference, err
	}
	return reference, store.Write(filepath.Join(folder, Project, name), index, o.Tag)
}

func labelsOf(t *source.Tree, name string, o Options) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    Project + " " + name,
		"org.opencontainers.image.version":  o.Tag,
		"org.opencontainers.image.revision": t.Revision,
		"org.opencontainers.image.created":  t.Time.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.vendor":   "The multicluster-integrations Authors",
	}
	if o.Source != "" {
		labels["org.opencontainers.image.source"] = o.Source
	}
	return labels
}
