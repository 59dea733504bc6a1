// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The examples hold no field that the real CRDs do not know.
func TestExamplesApplyStrictly(t *testing.T) {
	needNamespace(t, "argocd")
	for _, path := range []string{"hub", "managed", "guestbook-app-set.yaml"} {
		apply(t, deployPath("examples", path))
	}
	for _, path := range []string{"guestbook-app-set.yaml", "managed", "hub"} {
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("examples", path))
	}
}

// So do those of GitOpsClusters, in either version.
func TestExamplesOfGitOpsClusters(t *testing.T) {
	needNamespace(t, "argocd")
	const crd = "apps.open-cluster-management.io_gitopsclusters.yaml"
	apply(t, deployPath("components", "gitopsclusters", crd))
	kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "-f", deployPath("components", "gitopsclusters", crd))
	for _, name := range []string{"v1beta1.yaml", "v1alpha1.yaml", "from-nothing.yaml"} {
		apply(t, deployPath("examples", "gitopscluster", name))
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("examples", "gitopscluster", name))
	}
	kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("components", "gitopsclusters", crd))
}

// The keys in the ApplicationSet are the ones that propagation reads.
func TestExampleUsesTheContract(t *testing.T) {
	text := readFile(t, deployPath("examples", "guestbook-app-set.yaml"))
	for _, key := range []string{contract.PullLabel + `: "true"`, contract.ClusterAnnotation + `: '{{.name}}'`} {
		if !strings.Contains(text, key) {
			t.Errorf("the ApplicationSet has no %s", key)
		}
	}
}
