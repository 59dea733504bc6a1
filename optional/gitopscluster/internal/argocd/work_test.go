// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func wanted(change ...func(*Wanted)) Wanted {
	w := Wanted{Owner: types.NamespacedName{Namespace: "argocd", Name: "fleet"}, Cluster: "cluster1", Namespace: "argocd", Install: InstallManifests}
	for _, c := range change {
		c(&w)
	}
	return w
}

// delivered returns the objects of a work by kind and name.
func delivered(t *testing.T, w Wanted) (*workv1.ManifestWork, map[string]*unstructured.Unstructured) {
	t.Helper()
	work, err := Work(w, now)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for i, m := range work.Spec.Workload.Manifests {
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal(m.Raw, &o.Object); err != nil {
			t.Fatal(err)
		}
		if id := work.Spec.ManifestConfigs[i].ResourceIdentifier; id != identify(o) {
			t.Errorf("the configuration of %s is for %v", o.GetName(), id)
		}
		found[o.GetKind()+" "+o.GetName()] = o
	}
	return work, found
}

// What a managed cluster gets is what it needs to sync Applications, and no more.
func TestWork_deliversWhatSyncsApplications(t *testing.T) {
	work, found := delivered(t, wanted())
	for _, name := range []string{
		"Namespace argocd", "CustomResourceDefinition applications.argoproj.io", "CustomResourceDefinition appprojects.argoproj.io", "AppProject default",
		"StatefulSet argocd-application-controller", "Deployment argocd-repo-server", "Deployment argocd-redis", "Service argocd-redis", "Service argocd-repo-server",
		"ServiceAccount argocd-application-controller", "ClusterRole argocd-application-controller", "ClusterRoleBinding argocd-application-controller",
		"NetworkPolicy argocd-redis-network-policy", "ConfigMap argocd-cm", "ConfigMap argocd-cmd-params-cm", "ConfigMap argocd-gpg-keys-cm",
		"ConfigMap argocd-ssh-known-hosts-cm", "ConfigMap argocd-tls-certs-cm", "Secret argocd-secret", "Role argocd-redis", "RoleBinding argocd-redis",
	} {
		if found[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	for name, o := range found {
		if strings.Contains(name, "applicationset") || strings.Contains(name, "argocd-server") || strings.Contains(name, "dex") {
			t.Errorf("there is %s", name)
		}
		switch namespaced := !slices.Contains([]string{"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}, o.GetKind()); {
		case namespaced && o.GetNamespace() != "argocd":
			t.Errorf("%s is in namespace %q", name, o.GetNamespace())
		case !namespaced && o.GetNamespace() != "":
			t.Errorf("%s is in namespace %q", name, o.GetNamespace())
		}
	}
	if size := len(must(json.Marshal(work))); size > 200<<10 {
		t.Errorf("the work has %d KiB, of 500 that a hub takes", size>>10)
	}
	if version := Version(); !strings.HasPrefix(version, "v3.") {
		t.Errorf("the version is %q", version)
	}
	if len(work.Spec.Workload.Manifests) > 50 {
		t.Errorf("there are %d manifests", len(work.Spec.Workload.Manifests))
	}
}

// The end of a delivery leaves what Applications and their workloads need, and what users set.
func TestWork_leavesApplicationsAndSettings(t *testing.T) {
	work, found := delivered(t, wanted())
	orphaned := map[string]bool{}
	for _, rule := range work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules {
		orphaned[rule.Resource+" "+rule.Name] = true
	}
	if policy := work.Spec.DeleteOption.PropagationPolicy; policy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan {
		t.Fatalf("the policy is %s", policy)
	}
	for _, o := range found {
		id := identify(o)
		want := slices.Contains([]string{"namespaces", "customresourcedefinitions", "appprojects", "configmaps", "secrets"}, id.Resource) || id.Name == workAgentRole
		if orphaned[id.Resource+" "+id.Name] != want {
			t.Errorf("%s %s stays: %t, want %t", id.Resource, id.Name, !want, want)
		}
	}
}

// Nothing that the cluster has is overwritten, but what the spec allows.
func TestWork_takesNothingOver(t *testing.T) {
	for name, takeOver := range map[string]bool{"as it is": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			work, _ := delivered(t, wanted(func(w *Wanted) { w.TakeOver = takeOver }))
			for _, c := range work.Spec.ManifestConfigs {
				switch s := c.UpdateStrategy; c.ResourceIdentifier.Resource {
				case "namespaces", "appprojects":
					if s.Type != workv1.UpdateStrategyTypeCreateOnly {
						t.Errorf("%s: %s", c.ResourceIdentifier.Name, s.Type)
					}
				case "customresourcedefinitions":
					if s.Type != workv1.UpdateStrategyTypeUpdate {
						t.Errorf("%s: %s, and OCM's work agent may not patch definitions", c.ResourceIdentifier.Name, s.Type)
					}
				default:
					if s.Type != workv1.UpdateStrategyTypeServerSideApply || s.ServerSideApply.Force != takeOver {
						t.Errorf("%s: %s, %+v", c.ResourceIdentifier.Name, s.Type, s.ServerSideApply)
					}
				}
			}
		})
	}
}

func TestWork_followsTheSpec(t *testing.T) {
	subject := func(o *unstructured.Unstructured) string {
		s, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		return s[0].(map[string]any)["namespace"].(string)
	}
	image := func(o *unstructured.Unstructured) string { return containers(o, "containers")[0]["image"].(string) }
	for name, c := range map[string]struct {
		change func(*Wanted)
		check  func(t *testing.T, found map[string]*unstructured.Unstructured)
	}{
		"namespace": {func(w *Wanted) { w.Namespace = "gitops" }, func(t *testing.T, found map[string]*unstructured.Unstructured) {
			if n := subject(found["ClusterRoleBinding argocd-application-controller"]); n != "gitops" || found["Namespace gitops"] == nil {
				t.Errorf("the controller's rights are those of namespace %s", n)
			}
		}},
		"images": {func(w *Wanted) { w.Image, w.RedisImage = "example.com/argocd:1", "example.com/redis:2" }, func(t *testing.T, found map[string]*unstructured.Unstructured) {
			for name, want := range map[string]string{"StatefulSet argocd-application-controller": "example.com/argocd:1", "Deployment argocd-repo-server": "example.com/argocd:1", "Deployment argocd-redis": "example.com/redis:2"} {
				if got := image(found[name]); got != want {
					t.Errorf("%s runs %s", name, got)
				}
			}
			if got := containers(found["Deployment argocd-redis"], "initContainers")[0]["image"]; got != "example.com/argocd:1" {
				t.Errorf("the password of Redis is made by %s", got)
			}
		}},
		"mirror": {func(w *Wanted) {
			w.Registries = `{"registries":[{"source":"quay.io/argoproj","mirror":"mirror.example.com"}]}`
		}, func(t *testing.T, found map[string]*unstructured.Unstructured) {
			if got := image(found["Deployment argocd-repo-server"]); !strings.HasPrefix(got, "mirror.example.com/argocd:v") {
				t.Errorf("it runs %s", got)
			}
		}},
		"rights": {func(w *Wanted) { w.ClusterRole = "deployer" }, func(t *testing.T, found map[string]*unstructured.Unstructured) {
			if found["ClusterRole argocd-application-controller"] != nil || found["ClusterRoleBinding argocd-application-controller"] != nil {
				t.Error("Argo CD may do everything")
			}
			b := found["ClusterRoleBinding argocd-application-controller:deployer"]
			if role, _, _ := unstructured.NestedString(b.Object, "roleRef", "name"); role != "deployer" || subject(b) != "argocd" {
				t.Errorf("it may do what %s may", role)
			}
			if v, _, _ := unstructured.NestedString(found["ConfigMap argocd-cm"].Object, "data", "resource.respectRBAC"); v != "normal" {
				t.Error("Argo CD would watch what it may not list")
			}
		}},
		"agent": {func(*Wanted) {}, func(t *testing.T, found map[string]*unstructured.Unstructured) {
			if text := string(must(json.Marshal(found["NetworkPolicy argocd-redis-network-policy"]))); !strings.Contains(text, "argocd-agent-agent") || !strings.Contains(text, "argocd-repo-server") {
				t.Errorf("Redis admits %s", text)
			}
		}},
		"operator": {func(w *Wanted) { w.Install = InstallOperator }, func(t *testing.T, found map[string]*unstructured.Unstructured) {
			if found["ArgoCD "+WorkName] == nil || len(found) != 4 {
				t.Errorf("there are %d objects", len(found))
			}
			if text := string(must(json.Marshal(found["ClusterRole "+workAgentRole]))); !strings.Contains(text, "argocds") {
				t.Errorf("the work agent may not apply an ArgoCD: %s", text)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted(c.change)
			_, found := delivered(t, w)
			c.check(t, found)
			if plain, changed := must(Digest(wanted())), must(Digest(w)); (plain == changed) != (name == "agent") {
				t.Errorf("the digest is %s, and without the change %s", changed, plain)
			}
			if name != "operator" {
				if _, again := delivered(t, wanted()); again["Namespace argocd"] == nil {
					t.Error("a delivery changed the manifests of the next")
				}
			}
		})
	}
}

// What looks changes nothing, and takes nothing along.
func TestLookWork_isReadOnly(t *testing.T) {
	work := LookWork(wanted())
	for _, c := range work.Spec.ManifestConfigs {
		if c.UpdateStrategy.Type != workv1.UpdateStrategyTypeReadOnly {
			t.Errorf("%s: %s", c.ResourceIdentifier.Name, c.UpdateStrategy.Type)
		}
	}
	if n := len(work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules); n != 3 || len(work.Spec.ManifestConfigs) != 3 {
		t.Errorf("%d of %d objects stay", n, len(work.Spec.ManifestConfigs))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // a test has no other way out of an expression
	}
	return v
}
