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

// Push copies every layout below folder to its repository in registry, and reports each reference
// with its digest. It never moves a tag that exists with another digest, so that a release never
// changes.
func Push(ctx context.Context, folder, registry string, report func(reference string)) error {
	repositories, err := Find(folder)
	if err != nil {
		return err
	}
	for _, repository := range repositories {
		index, tagged, err := Read(filepath.Join(folder, filepath.FromSlash(repository)))
		if err != nil {
			return err
		}
		to, err := name.NewRepository(registry+"/"+repository, name.StrictValidation)
		if err != nil {
			return fmt.Errorf("use registry %q: %w", registry, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		tag := to.Tag(tagged)
		there, err := Lookup(ctx, tag)
		if err != nil {
			return err
		}
		if there != nil && *there != digest {
			return fmt.Errorf("%s is there already with digest %s, this one has %s; give what changed a new version", tag, there, digest)
		}
		if err := remote.WriteIndex(tag, index, options(ctx)...); err != nil {
			return fmt.Errorf("push %s: %w", tag, err)
		}
		report(tag.String() + "@" + digest.String())
	}
	return nil
}

// Lookup returns the digest of a tag, or nil if the registry does not have it. Some registries,
// like GitHub's, reply that a repository is forbidden if it was never pushed to, in order not to
// disclose which exist. Lookup returns nil for this reply, too. The push will report a missing
// right.
func Lookup(ctx context.Context, tag name.Tag) (*v1.Hash, error) {
	found, err := remote.Head(tag, options(ctx)...)
	var refused *transport.Error
	switch {
	case errors.As(err, &refused) && (refused.StatusCode == http.StatusNotFound || refused.StatusCode == http.StatusForbidden):
		return nil, nil //nolint:nilnil // the tag does not exist, which is not an error
	case err != nil:
		return nil, fmt.Errorf("look up %s: %w", tag, err)
	}
	return &found.Digest, nil
}

// ChartThere reports whether a registry has a chart's version. It returns an error if that version
// comes from another archive.
func ChartThere(ctx context.Context, tag name.Tag, archive v1.Hash) (bool, error) {
	found, err := Lookup(ctx, tag)
	if err != nil || found == nil {
		return false, err
	}
	chart, err := remote.Image(tag, options(ctx)...)
	if err != nil {
		return false, fmt.Errorf("pull %s: %w", tag, err)
	}
	manifest, err := chart.Manifest()
	if err != nil {
		return false, err
	}
	if len(manifest.Layers) != 1 || manifest.Layers[0].Digest != archive {
		return false, fmt.Errorf("%s is there already with other content; give what changed a new version", tag)
	}
	return true, nil
}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}
