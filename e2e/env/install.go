// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"embed"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// installed is what installing Open Cluster Management and Argo CD would bring to
// the clusters, as far as the fleet needs it.
//
//go:embed install
var installed embed.FS

// applyInstall creates the objects of embedded files.
func (c *Cluster) applyInstall(ctx context.Context, names ...string) error {
	for _, name := range names {
		content, err := installed.ReadFile("install/" + name)
		if err != nil {
			return err
		}
		objects, err := parseObjects(content)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		for _, o := range objects {
			err := c.patiently(ctx, "create", o, func(ctx context.Context) error { return client.IgnoreAlreadyExists(c.Client.Create(ctx, o)) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
