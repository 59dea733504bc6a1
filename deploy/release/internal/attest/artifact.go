// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attest makes what is attached to an image: its bill of materials and its
// provenance.
package attest

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of the artefacts.
const (
	SPDX   types.MediaType = "application/spdx+json"
	InToto types.MediaType = "application/vnd.in-toto+json"
)

// Artifact wraps content as an OCI artefact that refers to subject, so that a registry
// lists it among the referrers of subject.
func Artifact(content []byte, kind types.MediaType, subject v1.Descriptor, annotations map[string]string) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), kind)
	img, err := mutate.AppendLayers(base, static.NewLayer(content, kind))
	if err != nil {
		return nil, err
	}
	img = mutate.Annotations(img, annotations).(v1.Image) //nolint:forcetypeassert // it returns what it was given
	// The subject comes last: what is changed later would lose it.
	bare := v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	return mutate.Subject(img, bare).(v1.Image), nil //nolint:forcetypeassert // the same
}
