// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// part is a component in bin/: a binary, or a folder of files copied from pinned modules.
type part struct {
	// name is the file or folder below bin/.
	name string
	// groups are names for this part and others. test is for envtest, fleet for the end-to-end fleet, and
	// bench for the benchmark. old is for the oldest supported components, and deploy for rendering and
	// checking deploy/. lint, generate, scan and sign are for the make targets of these names.
	groups []string
	// module is the folder of the tool module that pins the part's version.
	module string
	// pkg is the main package to build. It is empty for copied files.
	pkg string
	// ldflags are linker flags in addition to the flags of every binary. {version}, {major} and {minor}
	// represent the version that the tool module pins for versionOf.
	ldflags, versionOf string
	// tags are build tags, comma-separated.
	tags string
	// edit is the change of the part's source before the build. The zero value is no change.
	edit edit
	// copies are the files to copy instead of building a package.
	copies []copyRule
}

// copyRule copies files of a pinned module to a folder below the part's own.
type copyRule struct {
	// toolModule is the folder of the tool module that pins module.
	toolModule, module string
	// glob selects files of module by their path in it. At least one file must match.
	glob string
	// to is the folder the files are copied to.
	to string
	// templates is true if the files are Go templates.
	templates bool
}

// modules lists the folders of the tool modules of p, sorted.
func (p part) modules() []string {
	found := map[string]bool{p.module: p.module != ""}
	for _, rule := range p.copies {
		found[rule.toolModule] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

const (
	argocd2 = "github.com/argoproj/argo-cd/v2"
	argocd3 = "github.com/argoproj/argo-cd/v3"
	ocm     = "open-cluster-management.io/ocm"

	// Without these flags the Kubernetes binaries report v0.0.0-master, which Argo CD and
	// ManagedCluster.status.version use.
	kubernetesLdflags = "-X k8s.io/component-base/version.gitVersion=v{version}" +
		" -X k8s.io/component-base/version.gitMajor={major} -X k8s.io/component-base/version.gitMinor={minor}"
	// The socket for git credentials is in the repository server's working folder. In /tmp it would remain
	// afterwards, and two repository servers would share it.
	argocdLdflags = "-X {module}/common.version={version} -X {module}/util/askpass.SocketPath=reposerver-ask-pass.sock"
)

// catalog returns all parts in the order of their builds. Within a group the longest build comes first, and
// then the builds that share most packages with it.
func catalog() []part {
	tool := func(module, group, name, pkg string) part {
		return part{name: name, groups: []string{group}, module: module, pkg: pkg}
	}
	return []part{
		{name: "crds", groups: []string{"test", "fleet", "bench"}, copies: append(managedCRDs("ocm-argocd", argocd3), hubCRDs()...)},
		{name: "crds-next", groups: []string{"test"}, copies: []copyRule{argocdCRDs("next", argocd3)}},
		{name: "crds-old", groups: []string{"old"}, copies: managedCRDs("old", argocd2)},
		{name: "kwok-stages", groups: []string{"fleet"}, copies: kwokStages()},
		{name: "manifests", groups: []string{"fleet", "deploy"}, copies: manifests()},
		argocd("argocd", "fleet", "ocm-argocd", argocd3),
		tool("ocm-argocd", "fleet", "ocm", "."),
		kubernetes("kube-apiserver", "test", "fleet", "bench"),
		kubernetes("kube-controller-manager", "fleet"),
		kubernetes("kubectl", "deploy", "pod"),
		kubernetes("kubelet", "pod"),
		kubernetes("kube-scheduler", "pod"),
		tool("kubernetes", "fleet", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
		{name: "etcd", groups: []string{"test", "fleet", "bench"}, module: "kubernetes", pkg: "go.etcd.io/etcd/server/v3"},
		argocd("argocd-old", "old", "old", argocd2),
		tool("old", "old", "ocm-old", "."),
		tool("lint", "lint", "golangci-lint", "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"),
		tool("gotools", "lint", "actionlint", "github.com/rhysd/actionlint/cmd/actionlint"),
		tool("gotools", "generate", "controller-gen", "sigs.k8s.io/controller-tools/cmd/controller-gen"),
		{name: "kustomize", groups: []string{"generate", "deploy", "fleet", "bench"}, module: "gotools", pkg: "sigs.k8s.io/kustomize/kustomize/v5"},
		tool("gotools", "deploy", "kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"),
		tool("gotools", "deploy", "helm", "helm.sh/helm/v3/cmd/helm"),
		tool("gotools", "deploy", "jq", "github.com/itchyny/gojq/cmd/gojq"),
		prometheus("prometheus"),
		prometheus("promtool"),
		tool("gotools", "scan", "govulncheck", "golang.org/x/vuln/cmd/govulncheck"),
		tool("cosign", "sign", "cosign", "github.com/sigstore/cosign/v3/cmd/cosign"),
	}
}

func kubernetes(name string, groups ...string) part {
	return part{
		name: name, groups: groups, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/" + name,
		versionOf: "k8s.io/kubernetes", ldflags: kubernetesLdflags,
	}
}

// argocd returns the part for the Argo CD that toolModule pins as module. The metrics server of its
// application controller listens on all addresses and has no flag for that. Only this machine may reach test
// programs, so the build changes the address. Otherwise each fleet would need a network namespace.
func argocd(name, group, toolModule, module string) part {
	return part{
		name: name, groups: []string{group}, module: toolModule, pkg: module + "/cmd",
		versionOf: module, ldflags: strings.ReplaceAll(argocdLdflags, "{module}", module),
		edit: edit{
			module: module, file: "controller/appcontroller.go",
			old: `metricsAddr := fmt.Sprintf("0.0.0.0:%d", metricsPort)`,
			new: `metricsAddr := fmt.Sprintf("127.0.0.1:%d", metricsPort)`,
		},
	}
}

// prometheus returns a part without service discovery of cloud providers, which is a third of the packages
// and unused here.
func prometheus(name string) part {
	return part{
		name: name, groups: []string{"deploy"}, module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/" + name, tags: "remove_all_sd",
	}
}

func argocdCRDs(toolModule, module string) copyRule {
	return copyRule{toolModule: toolModule, module: module, glob: "manifests/crds/*-crd.yaml", to: "argocd"}
}

// managedCRDs returns the CRDs of a managed cluster. OCM 0.16 has a second file of each CRD, for older
// versions of Kubernetes.
func managedCRDs(toolModule, argocd string) []copyRule {
	const managed = "manifests/klusterlet/managed/"
	return []copyRule{
		{toolModule: toolModule, module: ocm, glob: managed + "0000_01_*_appliedmanifestworks.crd.yaml", to: "ocm-managed"},
		{toolModule: toolModule, module: ocm, glob: managed + "0000_02_*_clusterclaims.crd.yaml", to: "ocm-managed"},
		argocdCRDs(toolModule, argocd),
	}
}

// hubCRDs returns OCM's CRDs of the hub. Two of them are templates with a conversion webhook, which only
// OCM's operator can complete. The plain CRDs of OCM's API module replace them.
func hubCRDs() []copyRule {
	const api, addon = "open-cluster-management.io/api", "addon/v1alpha1/0000_0?_addon.open-cluster-management.io_"
	return []copyRule{
		{toolModule: "ocm-argocd", module: ocm, glob: "manifests/cluster-manager/hub/crds/*.crd.yaml", to: "ocm-hub"},
		{toolModule: "ocm-argocd", module: api, glob: addon + "clustermanagementaddons.crd.yaml", to: "ocm-hub"},
		{toolModule: "ocm-argocd", module: api, glob: addon + "managedclusteraddons.crd.yaml", to: "ocm-hub"},
	}
}

// manifests returns manifests that a user installs: Argo CD without its UI, in two versions, and the
// permissions of OCM's add-on manager.
func manifests() []copyRule {
	return []copyRule{
		{toolModule: "ocm-argocd", module: argocd3, glob: "manifests/core-install.yaml", to: "argocd"},
		{toolModule: "next", module: argocd3, glob: "manifests/core-install.yaml", to: "argocd-next"},
		{toolModule: "ocm-argocd", module: ocm, glob: "manifests/cluster-manager/hub/addon-manager/*.yaml", to: "addon-manager", templates: true},
	}
}

// kwokStages returns the lifecycle of nodes and pods, which kwok needs as configuration.
func kwokStages() (rules []copyRule) {
	for _, glob := range []string{"node/fast/node-*.yaml", "node/heartbeat/node-*.yaml", "pod/fast/pod-*.yaml"} {
		rules = append(rules, copyRule{toolModule: "kubernetes", module: "sigs.k8s.io/kwok", glob: "kustomize/stage/" + glob, templates: true})
	}
	return rules
}

// resolve returns the parts with the names of parts or groups, each once, in catalog order. Without
// names it returns all. The error for an unknown name lists the known ones.
func resolve(parts []part, names []string) ([]part, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, p := range parts {
			if name == p.name || name == "all" || slices.Contains(p.groups, name) {
				wanted[p.name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no part or group is called %q\n%s", name, known(parts))
		}
	}
	if len(names) == 0 {
		return parts, nil
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !wanted[p.name] }), nil
}

// known lists the names of groups and parts.
func known(parts []part) string {
	groups := []string{"all"}
	for _, p := range parts {
		groups = append(groups, p.groups...)
	}
	slices.Sort(groups)
	return fmt.Sprintf("groups: %s\nparts:  %s", strings.Join(slices.Compact(groups), " "), strings.Join(partNames(parts), " "))
}

func partNames(parts []part) (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}
