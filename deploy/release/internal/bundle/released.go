// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/sign"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

const revisionAnnotation = "org.opencontainers.image.revision"

// released returns the digest of an image that an earlier commit released under this
// version, or nil. It refuses one whose container has changed since, which needs a
// version of its own, and one that the release's key did not sign.
func (r *release) released(ctx context.Context, reference Reference) (*v1.Hash, error) {
	if r.Registry == "" {
		return nil, nil //nolint:nilnil // nothing is released where nobody can look
	}
	tag, err := name.NewTag(reference.Published+":"+reference.Tag, name.StrictValidation)
	if err != nil {
		return nil, fmt.Errorf("use registry %q: %w", r.Registry, err)
	}
	digest, err := store.Lookup(ctx, tag)
	if err != nil || digest == nil {
		return nil, err
	}
	index, err := store.Pull(ctx, tag.Digest(digest.String()))
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tag, err)
	}
	revision := manifest.Annotations[revisionAnnotation]
	if revision == r.tree.Revision {
		return nil, nil //nolint:nilnil // this very release, begun before: built again it is the same
	}
	changed, err := r.tree.ChangedSince(ctx, revision, reference.Container)
	if err != nil {
		return nil, fmt.Errorf("compare %s with revision %q of %s: %w", reference.Container, revision, tag, err)
	}
	if changed {
		return nil, fmt.Errorf("%s is released with revision %s, and %s/ or shared/ has changed since: raise the version in %s/internal/command/command.go",
			tag, revision, reference.Container, reference.Container)
	}
	if r.Key == nil {
		return digest, nil
	}
	signatures, err := store.PullImage(ctx, tag.Context().Tag(sign.SignatureTag(*digest)))
	if err != nil {
		return nil, fmt.Errorf("find the signature of %s: %w", tag, err)
	}
	return digest, r.Key.VerifyImage(signatures, *digest)
}
