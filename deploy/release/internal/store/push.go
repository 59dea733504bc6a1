// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Push copies every layout below folder to its repository in registry, and reports
// each reference with its digest. A tag that a registry has with another digest is
// never moved: what was released stays.
func Push(ctx context.Context, folder, registry string, report func(reference string)) error {
	repositories, err := Find(folder)
	if err != nil {
		return err
	}
	for _, repository := range repositories {
		entries, err := Read(filepath.Join(folder, filepath.FromSlash(repository)))
		if err != nil {
			return err
		}
		to, err := name.NewRepository(registry+"/"+repository, name.StrictValidation)
		if err != nil {
			return fmt.Errorf("use registry %q: %w", registry, err)
		}
		for _, e := range entries {
			reference, err := pushEntry(ctx, to, e)
			if err != nil {
				return err
			}
			report(reference)
		}
	}
	return nil
}

func pushEntry(ctx context.Context, to name.Repository, e Entry) (string, error) {
	digest, err := e.Digest()
	if err != nil {
		return "", err
	}
	var reference name.Reference = to.Digest(digest.String())
	said := reference.String()
	if e.Tag != "" {
		tag := to.Tag(e.Tag)
		there, err := Lookup(ctx, tag)
		if err != nil {
			return "", err
		}
		if there != nil && *there != digest {
			return "", fmt.Errorf("%s is there already with digest %s, this one has %s; give what changed a new version", tag, there, digest)
		}
		reference, said = tag, tag.String()+"@"+digest.String()
	}
	if e.Index != nil {
		err = remote.WriteIndex(reference, e.Index, options(ctx)...)
	} else {
		err = remote.Write(reference, e.Image, options(ctx)...)
	}
	if err != nil {
		return "", fmt.Errorf("push %s: %w", said, err)
	}
	return said, nil
}

// Lookup returns the digest of a tag, or nil when the registry says that there is
// none.
func Lookup(ctx context.Context, tag name.Tag) (*v1.Hash, error) {
	found, err := remote.Head(tag, options(ctx)...)
	var refused *transport.Error
	switch {
	case errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound:
		return nil, nil //nolint:nilnil // there is no such tag, and no error
	case err != nil:
		return nil, fmt.Errorf("ask for %s: %w", tag, err)
	}
	return &found.Digest, nil
}

// Pull returns what a registry has under a reference.
func Pull(ctx context.Context, reference name.Reference) (v1.ImageIndex, error) {
	index, err := remote.Index(reference, options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", reference, err)
	}
	return index, nil
}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// PullImage returns the image that a registry has under a reference.
func PullImage(ctx context.Context, reference name.Reference) (v1.Image, error) {
	img, err := remote.Image(reference, options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", reference, err)
	}
	return img, nil
}
