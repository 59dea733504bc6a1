// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle puts together what a release consists of.
package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/attest"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/compile"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// Project is the first part of every repository's name.
const Project = "multicluster-integrations"

// Options say how images are built.
type Options struct {
	// Architectures are Go's names of them.
	Architectures []string
	// Suffix is added to a container's version in tags and labels: "-rc.1" for a
	// pre-release.
	Suffix string
	// Source is the repository's public address; empty: unknown.
	Source string
	// Builder identifies who runs the build, in the provenance.
	Builder string
}

// Image is what was built for one container.
type Image struct {
	Container source.Container
	// Tag is the version with the suffix.
	Tag string
	// Index has one image for each architecture.
	Index v1.ImageIndex
	// SBOMs are by architecture.
	SBOMs      map[string][]byte
	Provenance []byte

	attached []store.Entry
}

// Repository is the image's name without a registry.
func (i *Image) Repository() string { return Project + "/" + i.Container.Name }

// Entries are the manifests of the image's layout.
func (i *Image) Entries() []store.Entry {
	return append([]store.Entry{{Index: i.Index, Tag: i.Tag}}, i.attached...)
}

// Build compiles a container for every architecture and makes its image.
func Build(ctx context.Context, t *source.Tree, c source.Container, o Options) (*Image, error) {
	scratch, err := os.MkdirTemp("", "images-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // only binaries that are in the image by then
	labels := labelsOf(t, c, c.Version+o.Suffix, o.Source)
	out := newImage(c, o, labels)
	var products []attest.Product
	for _, architecture := range o.Architectures {
		programs := map[string]string{}
		for _, p := range c.Programs {
			if programs[p.Name], err = compile.Program(ctx, t, c.Name, p, architecture, scratch); err != nil {
				return nil, err
			}
		}
		made, err := image.New(image.Spec{Architecture: architecture, Programs: programs, EntryPoint: c.Name, Labels: labels, Created: t.Time})
		if err != nil {
			return nil, fmt.Errorf("make the image of %s for linux/%s: %w", c.Name, architecture, err)
		}
		if err := out.describe(t, made, architecture, programs); err != nil {
			return nil, err
		}
		product, err := out.add(made, architecture)
		if err != nil {
			return nil, err
		}
		products = append(products, product)
	}
	return out, out.prove(ctx, t, o, compile.Flags(t), products)
}

// newImage is an image without any architecture yet.
func newImage(c source.Container, o Options, labels map[string]string) *Image {
	index := mutate.Annotations(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), labels).(v1.ImageIndex) //nolint:forcetypeassert // Annotations returns what it was given
	return &Image{Container: c, Tag: c.Version + o.Suffix, Index: index, SBOMs: map[string][]byte{}}
}

// add puts the image of an architecture into the index.
func (i *Image) add(made v1.Image, architecture string) (attest.Product, error) {
	i.Index = mutate.AppendManifests(i.Index, mutate.IndexAddendum{
		Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
	})
	digest, err := made.Digest()
	return attest.Product{Name: i.Repository(), Digest: digest}, err
}

// describe attaches the bill of materials of one architecture's image.
func (i *Image) describe(t *source.Tree, made v1.Image, architecture string, programs map[string]string) error {
	digest, err := made.Digest()
	if err != nil {
		return err
	}
	sbom, err := attest.SBOM(attest.Subject{
		Name: i.Container.Name, Version: i.Tag, Revision: t.Revision, Architecture: architecture,
		Digest: digest, Created: t.Time, Programs: programs,
	})
	if err != nil {
		return err
	}
	i.SBOMs[architecture] = sbom
	size, err := made.Size()
	if err != nil {
		return err
	}
	return i.attach(sbom, attest.SPDX, v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size}, t.Time)
}

// prove attaches the provenance of the index and of the images in it.
func (i *Image) prove(ctx context.Context, t *source.Tree, o Options, flags []string, products []attest.Product) error {
	digest, err := i.Index.Digest()
	if err != nil {
		return err
	}
	size, err := i.Index.Size()
	if err != nil {
		return err
	}
	version, err := compile.GoVersion(ctx)
	if err != nil {
		return err
	}
	i.Provenance, err = attest.Provenance(attest.Build{
		Container: i.Container.Name, Version: i.Tag, Source: o.Source, Revision: t.Revision, Builder: o.Builder,
		GoVersion: version, Flags: flags, Platforms: platforms(o.Architectures),
	}, append([]attest.Product{{Name: i.Repository(), Digest: digest}}, products...)...)
	if err != nil {
		return err
	}
	return i.attach(i.Provenance, attest.InToto, v1.Descriptor{MediaType: types.OCIImageIndex, Digest: digest, Size: size}, t.Time)
}

func (i *Image) attach(content []byte, kind types.MediaType, subject v1.Descriptor, created time.Time) error {
	artifact, err := store.Artifact{
		Config: store.Blob{Type: kind}, Layers: []store.Blob{{Content: content, Type: kind}}, Subject: &subject,
		Annotations: map[string]string{"org.opencontainers.image.created": created.Format(time.RFC3339)},
	}.Image()
	if err != nil {
		return fmt.Errorf("attach %s to %s: %w", kind, i.Container.Name, err)
	}
	i.attached = append(i.attached, store.Entry{Image: artifact})
	return nil
}

// Write writes the image's layout below folder.
func (i *Image) Write(folder string) error {
	return store.Write(filepath.Join(folder, filepath.FromSlash(i.Repository())), i.Entries()...)
}

func labelsOf(t *source.Tree, c source.Container, version, address string) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    Project + " " + c.Name,
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.revision": t.Revision,
		"org.opencontainers.image.created":  t.Time.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.vendor":   "The multicluster-integrations Authors",
	}
	if address != "" {
		labels["org.opencontainers.image.source"] = address
	}
	return labels
}

func platforms(architectures []string) []string {
	out := make([]string, 0, len(architectures))
	for _, a := range architectures {
		out = append(out, "linux/"+a)
	}
	return out
}
