// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	groupAll    = "all"      // everything
	groupTest   = "test"     // what envtest needs
	groupFleet  = "fleet"    // what the end-to-end fleet needs
	groupBench  = "bench"    // what the benchmark needs: of the fleet, the hub's API server alone
	groupLint   = "lint"     // what `make lint` needs
	groupGen    = "generate" // what `make generate` needs
	groupDeploy = "deploy"   // what renders and checks deploy/
	groupScan   = "scan"     // what `make scan` needs
	groupSign   = "sign"     // what signs a release
	groupPod    = "pod"      // what runs the product's pod on a kubelet, with groupFleet
	groupOld    = "old"      // the oldest supported parts, which the mixed fleet runs beside the newest
)

// The tool modules of the two generations that a mixed fleet is made of.
const (
	newest = "ocm-argocd"
	oldest = "old"
)

// kubernetesLdflags tells the Kubernetes binaries their version: without it they report v0.0.0-master, which Argo CD reads and
// ManagedCluster.status.version repeats.
const kubernetesLdflags = "-X k8s.io/component-base/version.gitVersion=v{version}" +
	" -X k8s.io/component-base/version.gitMajor={major} -X k8s.io/component-base/version.gitMinor={minor}"

// argocdLdflags tells Argo CD its version, and puts the repo server's socket for git credentials into its working folder:
// it would be left behind in /tmp, and two repo servers would share it.
const argocdLdflags = "-X {module}/common.version={version} -X {module}/util/askpass.SocketPath=reposerver-ask-pass.sock"

// catalog is every part, in the order in which they are built: within a group the longest comes first, so that what is left
// gets shorter, and after it those that share most packages with it.
func catalog() []part {
	return []part{
		{name: "crds", groups: []string{groupTest, groupFleet, groupBench}, copies: newestCRDs()},
		{name: "crds-next", groups: []string{groupTest}, copies: nextCRDs()},
		{name: "crds-old", groups: []string{groupOld}, copies: oldCRDs()},
		{name: "kwok-stages", groups: []string{groupFleet}, copies: kwokStages()},
		argocd("argocd", newest, argocdModule, groupFleet),
		ocm("ocm", newest, groupFleet),
		kubernetes("kube-apiserver", groupTest, groupFleet, groupBench),
		kubernetes("kube-controller-manager", groupFleet),
		kubernetes("kubectl", groupDeploy, groupPod),
		kubernetes("kubelet", groupPod),
		kubernetes("kube-scheduler", groupPod),
		{name: "kwok", module: "kubernetes", pkg: "sigs.k8s.io/kwok/cmd/kwok", groups: []string{groupFleet}},
		{name: "backing", module: "backing", pkg: ".", groups: []string{groupFleet, groupBench}},
		{name: "etcd", module: "backing", pkg: "go.etcd.io/etcd/server/v3", groups: []string{groupTest}},
		argocd("argocd-old", oldest, argocd2Module, groupOld),
		ocm("ocm-old", oldest, groupOld),
		{name: "golangci-lint", module: "lint", pkg: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint", groups: []string{groupLint}},
		{name: "actionlint", module: "gotools", pkg: "github.com/rhysd/actionlint/cmd/actionlint", groups: []string{groupLint}},
		{name: "controller-gen", module: "gotools", pkg: "sigs.k8s.io/controller-tools/cmd/controller-gen", groups: []string{groupGen}},
		{name: "kustomize", module: "gotools", pkg: "sigs.k8s.io/kustomize/kustomize/v5", groups: []string{groupGen, groupDeploy}},
		{name: "kubeconform", module: "gotools", pkg: "github.com/yannh/kubeconform/cmd/kubeconform", groups: []string{groupDeploy}},
		{name: "helm", module: "gotools", pkg: "helm.sh/helm/v3/cmd/helm", groups: []string{groupDeploy}},
		prometheus("prometheus"),
		prometheus("promtool"),
		{name: "govulncheck", module: "gotools", pkg: "golang.org/x/vuln/cmd/govulncheck", groups: []string{groupScan}},
		{name: "cosign", module: "cosign", pkg: "github.com/sigstore/cosign/v3/cmd/cosign", groups: []string{groupSign}},
	}
}

func kubernetes(name string, groups ...string) part {
	return part{
		name: name, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/" + name, groups: groups,
		versionOf: "k8s.io/kubernetes", ldflags: kubernetesLdflags,
	}
}

// ocm is the program of the tool module itself: its parts of Open Cluster Management in one binary.
func ocm(name, module string, groups ...string) part {
	return part{name: name, module: module, pkg: ".", groups: groups}
}

// argocd is Argo CD as module, of the tool module toolModule, has it.
func argocd(name, toolModule, module string, groups ...string) part {
	return part{
		name: name, module: toolModule, pkg: module + "/cmd", groups: groups,
		versionOf: module, ldflags: strings.ReplaceAll(argocdLdflags, "{module}", module), edit: argocdLoopback(module),
	}
}

// prometheus is built without service discovery of cloud providers: a third of its packages, and nothing here uses them.
func prometheus(name string) part {
	return part{
		name: name, module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/" + name, groups: []string{groupDeploy},
		tags: "remove_all_sd",
	}
}

// resolve returns the parts that names, of parts or groups, stand for: each once, in catalog order. No name means everything.
// The error of an unknown name lists the known ones.
func resolve(parts []part, names []string) ([]part, error) {
	wanted := make(map[string]bool)
	for _, name := range names {
		found := false
		for _, p := range parts {
			if name == p.name || name == groupAll || slices.Contains(p.groups, name) {
				wanted[p.name] = true
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("no part or group is called %q; groups: %s; parts: %s",
				name, strings.Join(groupNames(parts), " "), strings.Join(partNames(parts), " "))
		}
	}
	if len(names) == 0 {
		return parts, nil
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !wanted[p.name] }), nil
}

// groupNames lists the groups that parts belong to, sorted, after the group of everything.
func groupNames(parts []part) []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.groups...)
	}
	slices.Sort(names)
	return append([]string{groupAll}, slices.Compact(names)...)
}

func partNames(parts []part) []string {
	names := make([]string, 0, len(parts))
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}
