// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the component adds to an overlay is what the chart adds: a flag of propagation and aggregation and
// one right of their accounts, and the controller, whose only write is a status.
func TestRolloutsSwitch(t *testing.T) {
	const crd = "CustomResourceDefinition /applicationsetrollouts.apps.open-cluster-management.io"
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			on := byIdentity(t, kustomize(t, v.overlay, "rollouts"))
			chart := byIdentity(t, chart(t, append([]string{"rollout.enabled=true"}, v.values...)...))
			chart["v1 Namespace /"+namespace] = on["v1 Namespace /"+namespace]
			for id := range chart {
				if strings.HasSuffix(id, crd) { // the chart keeps it when the release goes
					annotations := field(t, chart[id], "metadata", "annotations").(map[string]any)
					delete(annotations, "helm.sh/resource-policy")
				}
			}
			if diff := cmp.Diff(on, chart); diff != "" {
				t.Errorf("the component (-) and the chart (+) differ:\n%s", diff)
			}
		})
	}
	objects := kustomize(t, "ocm", "rollouts")
	for _, container := range containers(t, named(t, objects, "Deployment", namespace)) {
		has := slices.Contains(container["args"].([]any), any("--rollouts"))
		if name := container["name"]; has == (name == "resourcesync") {
			t.Errorf("%s has --rollouts: %t", name, has)
		}
	}
	rights := 0
	for r := range grantedRights(t, objects) {
		if r.binary != "rollout" {
			continue
		}
		rights++
		if strings.Contains(r.String(), "*") || r.namespace == "" && !slices.Contains([]string{"get", "list", "watch"}, r.verb) &&
			!slices.Contains([]string{"tokenreviews", "subjectaccessreviews", "events", "applicationsetrollouts/status"}, r.resource) {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
}

func TestRolloutExampleAppliesStrictly(t *testing.T) {
	needNamespace(t, "argocd")
	crd := deployPath("components", "rollouts", "apps.open-cluster-management.io_applicationsetrollouts.yaml")
	apply(t, crd)
	kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "-f", crd)
	apply(t, deployPath("examples", "rollout"))
	kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("examples", "rollout"))
	kubectl(t, "delete", "--wait", "--timeout=2m", "-f", crd)
}
