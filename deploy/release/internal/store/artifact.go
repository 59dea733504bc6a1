// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Blob is content with its type.
type Blob struct {
	Content     []byte
	Type        types.MediaType
	Annotations map[string]string
}

// Artifact is a manifest of something that is not run: a signature, a bill of
// materials, a chart.
type Artifact struct {
	// Config says with its type what the artefact is; without content it is {}.
	Config Blob
	Layers []Blob
	// Subject is what the artefact refers to, so that a registry lists it there; nil:
	// nothing.
	Subject     *v1.Descriptor
	Annotations map[string]string
}

// Image returns the artefact as layouts and registries store it.
func (a Artifact) Image() (v1.Image, error) {
	if a.Config.Content == nil {
		a.Config.Content = []byte("{}")
	}
	out := &artifactImage{config: a.Config, blobs: map[v1.Hash]Blob{}}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Subject: a.Subject, Annotations: a.Annotations}
	if a.Config.Type != types.OCIConfigJSON {
		manifest.ArtifactType = string(a.Config.Type)
	}
	var err error
	if manifest.Config, err = out.add(a.Config); err != nil {
		return nil, err
	}
	for _, l := range a.Layers {
		d, err := out.add(l)
		if err != nil {
			return nil, err
		}
		manifest.Layers = append(manifest.Layers, d)
	}
	if out.manifest, err = json.Marshal(manifest); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(out)
}

type artifactImage struct {
	config   Blob
	manifest []byte
	blobs    map[v1.Hash]Blob
}

func (i *artifactImage) add(b Blob) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(b.Content))
	i.blobs[digest] = b
	return v1.Descriptor{MediaType: b.Type, Digest: digest, Size: size, Annotations: b.Annotations}, err
}

// MediaType is that of an OCI manifest.
func (i *artifactImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawConfigFile is the configuration.
func (i *artifactImage) RawConfigFile() ([]byte, error) { return i.config.Content, nil }

// RawManifest is the manifest.
func (i *artifactImage) RawManifest() ([]byte, error) { return i.manifest, nil }

// LayerByDigest is the configuration or a layer.
func (i *artifactImage) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	b, ok := i.blobs[digest]
	if !ok {
		return nil, fmt.Errorf("the artefact has no blob %s", digest)
	}
	return blobLayer{b}, nil
}

type blobLayer struct{ blob Blob }

// Digest is that of the content.
func (l blobLayer) Digest() (v1.Hash, error) {
	digest, _, err := v1.SHA256(bytes.NewReader(l.blob.Content))
	return digest, err
}

// Compressed is the content as it is stored.
func (l blobLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.blob.Content)), nil
}

// Size is in bytes.
func (l blobLayer) Size() (int64, error) { return int64(len(l.blob.Content)), nil }

// MediaType is the content's type.
func (l blobLayer) MediaType() (types.MediaType, error) { return l.blob.Type, nil }
