// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// GitOpsClusters are a component and a value of the chart; without it nothing of them is there.
func TestGitOpsClusters(t *testing.T) {
	const crd = "apiextensions.k8s.io/v1 CustomResourceDefinition /gitopsclusters.apps.open-cluster-management.io"
	base := byIdentity(t, kustomize(t, "ocm"))
	objects := component(t, "ocm", "gitopsclusters")
	with := byIdentity(t, objects)
	rendered := byIdentity(t, chart(t, "gitopsclusters.enabled=true"))
	rendered["v1 Namespace /"+namespace] = with["v1 Namespace /"+namespace]
	annotations := field(t, rendered[crd], "metadata", "annotations").(map[string]any)
	if annotations["helm.sh/resource-policy"] != "keep" {
		t.Error("Helm would delete the users' GitOpsClusters with the release")
	}
	delete(annotations, "helm.sh/resource-policy")
	if diff := cmp.Diff(with, rendered); diff != "" {
		t.Errorf("the component (-) and the chart with gitopsclusters.enabled (+) differ:\n%s", diff)
	}
	var changed []string
	for id := range with {
		if !cmp.Equal(base[id], with[id]) {
			changed = append(changed, id)
		}
	}
	slices.Sort(changed)
	want := []string{
		crd,
		"apps/v1 Deployment multicluster-integrations/multicluster-integrations",
		"rbac.authorization.k8s.io/v1 ClusterRole /multicluster-integrations-propagation-gitopsclusters",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding /multicluster-integrations-propagation-gitopsclusters",
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("what GitOpsClusters bring: %s", diff)
	}
	for id, o := range base {
		if strings.Contains(id, "gitopscluster") {
			t.Errorf("%s is there without the component", id)
		}
		if id == "apps/v1 Deployment multicluster-integrations/multicluster-integrations" && strings.Contains(strings.Join(argsOf(t, &unstructured.Unstructured{Object: o}, "propagation"), " "), "gitopsclusters") {
			t.Error("they are on without the component")
		}
	}
}

// The agents are one component, and value, more.
func TestAgentsOfGitOpsClusters(t *testing.T) {
	const crd = "apiextensions.k8s.io/v1 CustomResourceDefinition /gitopsclusters.apps.open-cluster-management.io"
	objects := component(t, "ocm", "gitopsclusters, components/gitopsclusters-agent")
	with, rendered := byIdentity(t, objects), byIdentity(t, chart(t, "gitopsclusters.enabled=true", "gitopsclusters.agents=true"))
	rendered["v1 Namespace /"+namespace] = with["v1 Namespace /"+namespace]
	delete(field(t, rendered[crd], "metadata", "annotations").(map[string]any), "helm.sh/resource-policy")
	if diff := cmp.Diff(with, rendered); diff != "" {
		t.Errorf("the components (-) and the chart (+) differ:\n%s", diff)
	}
	if args := argsOf(t, find(t, objects, "Deployment"), "propagation"); args[len(args)-1] != "--gitopsclusters=agent" {
		t.Errorf("the last argument is %s", args[len(args)-1])
	}
	rights := 0
	for r := range grantedRights(t, objects) {
		if r.binary != "propagation-gitopsclusters-agent" {
			continue
		}
		rights++
		hubWide := r.namespace == "" && (r.resource == "secrets" || r.resource == "configmaps" || r.resource == "services" || r.resource == "deployments")
		if strings.Contains(r.String(), "*") || hubWide || r.resource == "nodes" || r.resource == "pods" || r.group == "rbac.authorization.k8s.io" {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
}

// The rights in Argo CD's namespace go where the overlay has Argo CD.
func TestAgentsOfGitOpsClustersElsewhere(t *testing.T) {
	const name = "multicluster-integrations-propagation-gitopsclusters-agent"
	for overlay, want := range map[string]string{"ocm": "argocd", "rhacm": "openshift-gitops"} {
		found := 0
		for id := range byIdentity(t, component(t, overlay, "gitopsclusters, components/gitopsclusters-agent")) {
			if !strings.Contains(id, " Role") || !strings.HasSuffix(id, "/"+name) {
				continue
			}
			if found++; !strings.HasSuffix(id, " "+want+"/"+name) {
				t.Errorf("%s: %s, want it in %s", overlay, id, want)
			}
		}
		if found != 2 {
			t.Errorf("%s: %d Roles and RoleBindings", overlay, found)
		}
	}
}

// Without the component propagation has no right on anything that only agents need.
func TestNoRightsWithoutAgents(t *testing.T) {
	rights := 0
	for r := range grantedRights(t, component(t, "ocm", "gitopsclusters")) {
		if !strings.HasPrefix(r.binary, "propagation") {
			continue
		}
		rights++
		if slices.Contains([]string{"addon.open-cluster-management.io", "certificates.k8s.io", "apps", "route.openshift.io"}, r.group) || r.resource == "services" || r.resource == "configmaps" && r.namespace == "argocd" {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
}

// No star, nothing that gives rights, and no Secret or ConfigMap of the whole hub.
func TestRightsOfGitOpsClusters(t *testing.T) {
	rights := 0
	for r := range grantedRights(t, component(t, "ocm", "gitopsclusters")) {
		if r.binary != "propagation-gitopsclusters" {
			continue
		}
		rights++
		if strings.Contains(r.String(), "*") || r.resource == "secrets" || r.resource == "configmaps" || r.resource == "nodes" || r.resource == "pods" || r.group == "rbac.authorization.k8s.io" ||
			slices.Contains([]string{"escalate", "bind", "impersonate", "deletecollection", "update", "delete", "create"}, r.verb) {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
}
