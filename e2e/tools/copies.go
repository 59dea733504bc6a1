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

const (
	ocmModule     = "open-cluster-management.io/ocm"
	ocmAPIModule  = "open-cluster-management.io/api"
	kwokModule    = "sigs.k8s.io/kwok"
	argocdModule  = "github.com/argoproj/argo-cd/v3"
	argocd2Module = "github.com/argoproj/argo-cd/v2"

	ocmHubCRDs     = "ocm-hub"
	ocmManagedCRDs = "ocm-managed"
	argocdCRDs     = "argocd"
	argocdCRDFiles = "manifests/crds/*-crd.yaml"
)

// newestCRDs lists the CustomResourceDefinitions of the newest parts, on the hub and on managed clusters. Two of OCM's on the
// hub are templates with a conversion webhook that only its operator could fill in; in their place come the plain ones of its
// API module.
func newestCRDs() []copyRule {
	const addon = "addon/v1alpha1/0000_0?_addon.open-cluster-management.io_"
	return append(managedCRDs(newest, argocdModule),
		copyRule{toolModule: newest, module: ocmModule, glob: "manifests/cluster-manager/hub/crds/*.crd.yaml", to: ocmHubCRDs},
		copyRule{toolModule: newest, module: ocmAPIModule, glob: addon + "clustermanagementaddons.crd.yaml", to: ocmHubCRDs},
		copyRule{toolModule: newest, module: ocmAPIModule, glob: addon + "managedclusteraddons.crd.yaml", to: ocmHubCRDs},
	)
}

// oldCRDs lists the CustomResourceDefinitions of a managed cluster with the oldest parts.
func oldCRDs() []copyRule { return managedCRDs(oldest, argocd2Module) }

// nextCRDs lists the CustomResourceDefinitions of an Argo CD that is newer than the newest that builds here.
func nextCRDs() []copyRule {
	return []copyRule{{toolModule: "next", module: argocdModule, glob: argocdCRDFiles, to: argocdCRDs}}
}

// managedCRDs lists what a managed cluster has, as toolModule pins it; argocd is the Argo CD module that it pins. OCM 0.16 has
// a second file of each for a Kubernetes that is older still.
func managedCRDs(toolModule, argocd string) []copyRule {
	const managed = "manifests/klusterlet/managed/"
	return []copyRule{
		{toolModule: toolModule, module: ocmModule, glob: managed + "0000_01_*_appliedmanifestworks.crd.yaml", to: ocmManagedCRDs},
		{toolModule: toolModule, module: ocmModule, glob: managed + "0000_02_*_clusterclaims.crd.yaml", to: ocmManagedCRDs},
		{toolModule: toolModule, module: argocd, glob: argocdCRDFiles, to: argocdCRDs},
	}
}

// kwokStages lists what kwok is told about how nodes and pods live; it knows nothing of it by itself.
func kwokStages() []copyRule {
	stage := func(glob string) copyRule {
		return copyRule{toolModule: "kubernetes", module: kwokModule, glob: "kustomize/stage/" + glob, templates: true}
	}
	return []copyRule{stage("node/fast/node-*.yaml"), stage("node/heartbeat/node-*.yaml"), stage("pod/fast/pod-*.yaml")}
}

// copyFiles follows the rules of p into the folder target, which it creates, telling m how far it is.
func (b *builder) copyFiles(ctx context.Context, p part, target string, m *meter) error {
	files := 0
	for _, rule := range p.copies {
		dir, err := b.moduleDir(ctx, rule.toolModule, rule.module)
		if err != nil {
			return err
		}
		copied, err := copyMatches(filepath.Join(dir, filepath.FromSlash(rule.glob)), filepath.Join(target, rule.to), rule.templates)
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

// copyMatches copies the files that match glob into the folder to, templates among them if they are wanted, and returns how
// many there were.
func copyMatches(glob, to string, templates bool) (int, error) {
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
		if !templates && bytes.Contains(content, []byte("{{ ")) {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(match)), content, fileMode); err != nil {
			return copied, err
		}
		copied++
	}
	return copied, nil
}
