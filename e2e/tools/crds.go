// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// copyRule says which files of a pinned module go to which folder below the part's own.
type copyRule struct {
	// toolModule is the folder of the tool module that pins module.
	toolModule string
	module     string
	// glob selects files of module, by their path in it. It has to match.
	glob string
	// to is the folder the files are copied to.
	to string
}

const (
	ocmModule    = "open-cluster-management.io/ocm"
	ocmAPIModule = "open-cluster-management.io/api"
	argocdModule = "github.com/argoproj/argo-cd/v2"

	ocmHubCRDs     = "ocm-hub"
	ocmManagedCRDs = "ocm-managed"
	argocdCRDs     = "argocd"
)

// crdRules lists the CustomResourceDefinitions of the real parts. Two of OCM's on the hub are templates with a conversion
// webhook that only its operator could fill in; in their place come the plain ones of its API module.
func crdRules() []copyRule {
	const managed = "manifests/klusterlet/managed/"
	const addon = "addon/v1alpha1/0000_0?_addon.open-cluster-management.io_"
	return []copyRule{
		{toolModule: "ocm", module: ocmModule, glob: "manifests/cluster-manager/hub/crds/*.crd.yaml", to: ocmHubCRDs},
		{toolModule: "ocm", module: ocmAPIModule, glob: addon + "clustermanagementaddons.crd.yaml", to: ocmHubCRDs},
		{toolModule: "ocm", module: ocmAPIModule, glob: addon + "managedclusteraddons.crd.yaml", to: ocmHubCRDs},
		{toolModule: "ocm", module: ocmModule, glob: managed + "*_appliedmanifestworks.crd.yaml", to: ocmManagedCRDs},
		{toolModule: "ocm", module: ocmModule, glob: managed + "*_clusterclaims.crd.yaml", to: ocmManagedCRDs},
		{toolModule: "argocd", module: argocdModule, glob: "manifests/crds/*-crd.yaml", to: argocdCRDs},
	}
}

// copyFiles follows the rules of p into the folder target, which it creates, telling m how far it is. Templates are left
// out.
func (b *builder) copyFiles(ctx context.Context, p part, target string, m *meter) error {
	files := 0
	for _, rule := range p.copies {
		dir, err := b.moduleDir(ctx, rule.toolModule, rule.module)
		if err != nil {
			return err
		}
		copied, err := copyMatches(filepath.Join(dir, filepath.FromSlash(rule.glob)), filepath.Join(target, rule.to))
		if err != nil {
			return err
		}
		if copied == 0 {
			return fmt.Errorf("%s has no file %s", rule.module, rule.glob)
		}
		files += copied
		m.update(fmt.Sprintf("%d files copied", files))
	}
	return nil
}

// copyMatches copies the files that match glob and are no templates into the folder to, and returns how many there were.
func copyMatches(glob, to string) (int, error) {
	matches, err := filepath.Glob(glob)
	if err != nil {
		return 0, fmt.Errorf("look for %s: %w", glob, err)
	}
	if err := os.MkdirAll(to, dirMode); err != nil {
		return 0, err
	}
	copied := 0
	for _, match := range matches {
		content, err := os.ReadFile(match)
		if err != nil {
			return copied, err
		}
		if bytes.Contains(content, []byte("{{ ")) {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(match)), content, fileMode); err != nil {
			return copied, err
		}
		copied++
	}
	return copied, nil
}
