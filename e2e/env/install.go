// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"embed"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// installed are the objects that an installation of Open Cluster Management and Argo CD creates, as far as
// the fleet needs them.
//
//go:embed install
var installed embed.FS

// applyInstall creates the objects of embedded files.
func (c *Cluster) applyInstall(ctx context.Context, names ...string) (err error) {
	defer must.Return(&err)
	for _, name := range names {
		content := must.Get(installed.ReadFile("install/" + name))
		objects, err := parseObjects(content)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		for _, o := range objects {
			must.OK(c.patiently(ctx, "create", o, func(ctx context.Context) error { return client.IgnoreAlreadyExists(c.Client.Create(ctx, o)) }))
		}
	}
	return nil
}
