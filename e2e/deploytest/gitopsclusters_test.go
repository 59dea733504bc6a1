// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trio is the Deployment of the three binaries that every installation has.
const trio = "apps/v1 Deployment multicluster-integrations/multicluster-integrations"

// The component and the chart value of GitOpsClusters give the same objects. Without them none of these
// objects is installed.
func TestGitOpsCluster_isOffUnlessInstalled(t *testing.T) {
	const crd = "apiextensions.k8s.io/v1 CustomResourceDefinition /gitopsclusters.apps.open-cluster-management.io"
	base := byIdentity(t, kustomize(t, "ocm"))
	objects := kustomize(t, "ocm", "gitopsclusters")
	with := byIdentity(t, objects)
	rendered := byIdentity(t, chart(t, "gitopscluster.enabled=true"))
	rendered["v1 Namespace /"+namespace] = with["v1 Namespace /"+namespace]
	annotations := field(t, rendered[crd], "metadata", "annotations").(map[string]any)
	if annotations["helm.sh/resource-policy"] != "keep" {
		t.Error("Helm would delete the users' GitOpsClusters with the release")
	}
	delete(annotations, "helm.sh/resource-policy")
	if diff := cmp.Diff(with, rendered); diff != "" {
		t.Errorf("the component (-) and the chart with gitopscluster.enabled (+) differ:\n%s", diff)
	}
	var changed []string
	for id := range with {
		if !cmp.Equal(base[id], with[id]) {
			changed = append(changed, id)
		}
	}
	slices.Sort(changed)
	want := []string{
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy /multicluster-integrations-gitopscluster",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding /multicluster-integrations-gitopscluster",
		crd,
		"apps/v1 Deployment multicluster-integrations/multicluster-integrations",
		"apps/v1 Deployment multicluster-integrations/multicluster-integrations-gitopscluster",
		"networking.k8s.io/v1 NetworkPolicy multicluster-integrations/multicluster-integrations-gitopscluster",
		"rbac.authorization.k8s.io/v1 ClusterRole /multicluster-integrations-gitopscluster",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding /multicluster-integrations-gitopscluster",
		"rbac.authorization.k8s.io/v1 Role argocd/multicluster-integrations-gitopscluster",
		"rbac.authorization.k8s.io/v1 Role argocd/multicluster-integrations-propagation",
		"rbac.authorization.k8s.io/v1 Role multicluster-integrations/multicluster-integrations-gitopscluster",
		"rbac.authorization.k8s.io/v1 RoleBinding argocd/multicluster-integrations-gitopscluster",
		"rbac.authorization.k8s.io/v1 RoleBinding multicluster-integrations/multicluster-integrations-gitopscluster",
		"v1 Service multicluster-integrations/multicluster-integrations-gitopscluster-metrics",
		"v1 ServiceAccount multicluster-integrations/multicluster-integrations-gitopscluster",
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("what GitOpsClusters bring: %s", diff)
	}
	for id, o := range base {
		if strings.Contains(id, "gitopscluster") {
			t.Errorf("%s is there without the component", id)
		}
		if id == trio && slices.Contains(argsOf(t, &unstructured.Unstructured{Object: o}, "propagation"), "--register=false") {
			t.Error("without the component nothing registers clusters")
		}
	}
	if !slices.Contains(argsOf(t, &unstructured.Unstructured{Object: with[trio]}, "propagation"), "--register=false") {
		t.Error("propagation and gitopscluster both register clusters")
	}
}

// A further component, or chart value, installs the objects that the agents need.
func TestAgents_areInstalledByTheirComponent(t *testing.T) {
	const crd = "apiextensions.k8s.io/v1 CustomResourceDefinition /gitopsclusters.apps.open-cluster-management.io"
	objects := kustomize(t, "ocm", "gitopsclusters", "gitopsclusters-agent")
	with, rendered := byIdentity(t, objects), byIdentity(t, chart(t, "gitopscluster.enabled=true", "gitopscluster.agents=true"))
	rendered["v1 Namespace /"+namespace] = with["v1 Namespace /"+namespace]
	delete(field(t, rendered[crd], "metadata", "annotations").(map[string]any), "helm.sh/resource-policy")
	if diff := cmp.Diff(with, rendered); diff != "" {
		t.Errorf("the components (-) and the chart (+) differ:\n%s", diff)
	}
	deployment := &unstructured.Unstructured{Object: with[trio+"-gitopscluster"]}
	if args := argsOf(t, deployment, "gitopscluster"); args[len(args)-1] != "--agents" {
		t.Errorf("the last argument is %s", args[len(args)-1])
	}
	rights := 0
	for r := range grantedRights(t, objects) {
		if r.binary != "gitopscluster-agent" {
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

// The Roles in Argo CD's namespace follow the Argo CD of the overlay. The Role for the CA's key stays in our
// namespace and names the Secret of that Argo CD.
func TestAgents_haveRolesInTheNamespaceOfArgoCD(t *testing.T) {
	const name = "multicluster-integrations-gitopscluster-agent"
	for overlay, want := range map[string]string{"ocm": "argocd", "rhacm": "openshift-gitops"} {
		found := map[string]int{}
		for id, o := range byIdentity(t, kustomize(t, overlay, "gitopsclusters", "gitopsclusters-agent")) {
			if !strings.Contains(id, " Role") || !strings.HasSuffix(id, "/"+name) {
				continue
			}
			found[field(t, o, "metadata", "namespace").(string)]++
			if strings.HasSuffix(id, " Role "+namespace+"/"+name) && !strings.Contains(fmt.Sprint(o), "argocd-agent-ca-"+want+"]") {
				t.Errorf("%s: the Role for the CA's key is %v", overlay, o)
			}
		}
		if len(found) != 2 || found[want] != 2 || found[namespace] != 2 {
			t.Errorf("%s: Roles and RoleBindings by namespace: %v", overlay, found)
		}
	}
}

// Without the component of agents no container has the permissions that only agents need, and with it
// propagation has none of them either. The one exception is that gitopscluster lists add-ons. So it
// does not release a deleted GitOpsCluster while agents remain that it installed with --agents.
func TestAgents_grantNothingWithoutTheirComponent(t *testing.T) {
	rights := 0
	granted := grantedRights(t, kustomize(t, "ocm", "gitopsclusters"))
	for r := range grantedRights(t, kustomize(t, "ocm", "gitopsclusters", "gitopsclusters-agent")) {
		if r.binary == "propagation" {
			granted[r] = true
		}
	}
	for r := range granted {
		if r.binary != "propagation" && r.binary != "gitopscluster" {
			continue
		}
		rights++
		if r.binary == "gitopscluster" && r.resource == "managedclusteraddons" && r.verb == "list" {
			continue
		}
		if slices.Contains([]string{"addon.open-cluster-management.io", "certificates.k8s.io", "apps", "route.openshift.io"}, r.group) || r.resource == "services" || r.resource == "configmaps" && r.namespace == "argocd" && r.binary != "propagation" {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
}

// Only one binary may write the Secrets that Argo CD reads as clusters, in every overlay.
func TestRights_letOneBinaryWriteSecrets(t *testing.T) {
	for _, overlay := range []string{"ocm", "rhacm"} {
		writers := func(objects []*unstructured.Unstructured) string {
			found := map[string]bool{}
			for r := range grantedRights(t, objects) {
				if r.resource == "secrets" && !slices.Contains([]string{"get", "list", "watch"}, r.verb) {
					found[r.binary] = true
				}
			}
			return strings.Join(slices.Sorted(maps.Keys(found)), " ")
		}
		if got := writers(kustomize(t, overlay)); got != "propagation" {
			t.Errorf("%s: Secrets are written by %q, want propagation", overlay, got)
		}
		if got := writers(kustomize(t, overlay, "gitopsclusters")); got != "gitopscluster" {
			t.Errorf("%s with gitopsclusters: Secrets are written by %q, want gitopscluster", overlay, got)
		}
	}
}

// gitopscluster has no wildcard, no permission that grants permissions, and no Secret or ConfigMap of the
// whole hub.
func TestGitOpsCluster_hasNarrowRights(t *testing.T) {
	rights := 0
	for r := range grantedRights(t, kustomize(t, "ocm", "gitopsclusters")) {
		if r.binary != "gitopscluster" {
			continue
		}
		rights++
		hubWide := r.namespace == "" && (r.resource == "secrets" || slices.Contains([]string{"update", "delete", "create"}, r.verb) && !strings.HasSuffix(r.resource, "reviews") && r.resource != "events")
		if strings.Contains(r.String(), "*") || hubWide || r.resource == "configmaps" || r.resource == "nodes" || r.resource == "pods" || r.group == "rbac.authorization.k8s.io" ||
			slices.Contains([]string{"escalate", "bind", "impersonate", "deletecollection"}, r.verb) {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
}

// The chart creates the GitOpsCluster of its values, although the same release installs the CRD. An upgrade
// and an uninstallation keep the GitOpsCluster.
func TestGitOpsCluster_isMadeByTheChart(t *testing.T) {
	needNamespace(t, "argocd")
	kubeconfigured := []string{"--kubeconfig", kubeconfig, "--namespace", namespace}
	helm := func(args ...string) {
		t.Helper()
		run(t, tool("helm"), append(args, kubeconfigured...)...)
	}
	get := func(path string) string {
		t.Helper()
		out, _ := kubectl(t, "-n", "argocd", "get", "gitopsclusters", "fleet", "-o", "jsonpath={"+path+"}")
		return out
	}
	values := []string{"--set", "gitopscluster.enabled=true", "--set", "gitopscluster.agents=true", "--set", "gitopscluster.create.placement=guestbook", "--set", "gitopscluster.create.agent=true"}
	kubectl(t, "delete", "--ignore-not-found", "--wait", "crd", reportCRD)
	helm(append([]string{"install", namespace, deployPath("chart"), "--create-namespace"}, values...)...)
	uid := get(".metadata.uid")
	if placement, agent := get(".spec.placementRef.name"), get(".spec.gitopsAddon.argoCDAgent.enabled"); uid == "" || placement != "guestbook" || agent != "true" {
		t.Errorf("made for placement %q, with agent: %q", placement, agent)
	}
	for range 2 { // the first upgrade takes the object over from the hook
		helm(append([]string{"upgrade", namespace, deployPath("chart")}, values...)...)
		if now := get(".metadata.uid"); now != uid {
			t.Fatalf("an upgrade has made it anew: %s, was %s", now, uid)
		}
	}
	helm("uninstall", namespace, "--wait", "--timeout", "2m")
	if now := get(".metadata.uid"); now != uid {
		t.Errorf("the end of the release has deleted it: %q", now)
	}
	kubectl(t, "-n", "argocd", "delete", "gitopsclusters", "fleet", "--wait", "--timeout=1m")
	kubectl(t, "delete", "crd", "gitopsclusters.apps.open-cluster-management.io", "--wait", "--timeout=1m")
	kubectl(t, "delete", "namespace", namespace, "--wait", "--timeout=2m")
}
