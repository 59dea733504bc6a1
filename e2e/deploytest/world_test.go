// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The three binaries work with the command lines of deploy/, and with no other permissions than the
// permissions in deploy/. This test acts as the managed clusters.
func TestRights_sufficeForTheBinaries(t *testing.T) {
	needNamespace(t, "argocd")
	apply(t, deployPath("install.yaml"))
	t.Cleanup(func() {
		_, _, _ = try(t, tool("kubectl"), "--kubeconfig", kubeconfig, "delete", "--ignore-not-found", "--wait", "--timeout=2m", "-f", deployPath("install.yaml"))
	})
	apply(t, deployPath("examples", "hub", "project.yaml"))
	all := start(t)
	prometheus, prometheusToken := startPrometheus(t, all)

	w := world{t}
	// Other users have created objects with our names: a cluster Secret and a report.
	applyText(t, `{apiVersion: v1, kind: Secret, metadata: {name: cluster2-cluster-secret, namespace: argocd}}`)
	applyText(t, `{apiVersion: apps.open-cluster-management.io/v1alpha1, kind: MulticlusterApplicationSetReport, metadata: {name: taken, namespace: argocd}, statuses: {}}`)
	w.cluster("cluster1")
	w.cluster("cluster2")
	w.eventuallyThere("secrets", "argocd", "-l", "argocd.argoproj.io/secret-type=cluster")
	set := readFile(t, deployPath("examples", "guestbook-app-set.yaml"))
	applyText(t, set)
	applyText(t, strings.Replace(set, "\n  name: guestbook\n", "\n  name: taken\n", 1))
	const finalizer = "resources-finalizer.argocd.argoproj.io" // the ApplicationSet controller's
	w.application("cluster1-guestbook", "cluster1", "guestbook", finalizer)
	w.application("refused", "cluster2", "guestbook", finalizer)
	w.decide("cluster1")

	work := w.work("cluster1")
	w.answer("cluster1", work, "Healthy", "Synced")
	w.eventuallyField("application.argoproj.io", "argocd", "cluster1-guestbook", "{.status.health.status} {.status.sync.status}", "Healthy Synced")
	w.eventuallyField("multiclusterapplicationsetreport", "argocd", "guestbook", "{.statuses.summary.healthy}", "1")
	w.application("plain", "cluster1", "taken")
	w.massDeletion("cluster1", "taken", 12)
	for _, reason := range []string{"NotBound", "ForeignReport", "ClusterSecretTaken", "WithdrawalHeld"} {
		w.eventuallyThere("events.events.k8s.io", "", "--all-namespaces", "--field-selector=reason="+reason)
	}
	w.eventuallyField("application.argoproj.io", "argocd", "refused", `{.status.conditions[?(@.type=="PullDeliveryError")].type}`, "PullDeliveryError")
	w.answer("cluster1", work, "Degraded", "Synced")
	w.eventuallyField("multiclusterapplicationsetreport", "argocd", "guestbook", "{.statuses.summary.notHealthy}", "1")

	t.Run("Prometheus", func(t *testing.T) { checkPrometheus(t, prometheus, all) })

	kubectl(t, "label", "managedcluster", "cluster1", "env=prod")
	w.eventuallyThere("secrets", "argocd", "-l", "env=prod")
	kubectl(t, "-n", "argocd", "annotate", "application.argoproj.io", "cluster1-guestbook", "argocd.argoproj.io/refresh=normal")
	w.eventuallyField("application.argoproj.io", "argocd", "cluster1-guestbook", `{.metadata.annotations.argocd\.argoproj\.io/refresh}`, "", func() {
		w.answer("cluster1", work, "Healthy", "Synced") // the agent reports the applied refresh
	})
	w.tenant("team-a", "cluster2")
	kubectl(t, "-n", "argocd", "delete", "application.argoproj.io", "--all", "--wait", "--timeout=60s")
	w.eventuallyGone("manifestworks", "cluster1")
	kubectl(t, "-n", "argocd", "delete", "applicationset", "--all", "--wait", "--timeout=60s")
	w.eventuallyGone("multiclusterapplicationsetreports", "argocd", "-l", contract.ReportLabel+"=argocd.guestbook")
	kubectl(t, "delete", "managedcluster", "cluster1", "cluster2", "--wait", "--timeout=60s")
	w.eventuallyGone("secrets", "argocd", "-l", "argocd.argoproj.io/secret-type=cluster")

	t.Run("Rights", checkRights)
	t.Run("Strangers", func(t *testing.T) { checkForbidden(t, all) })
	t.Run("Rotation", func(t *testing.T) { checkRotation(t, prometheus, prometheusToken, all) })
}

// world acts as the components around the hub: placement, the ApplicationSet controller and the agents of the
// managed clusters.
type world struct{ t *testing.T }

func (w world) cluster(name string) {
	w.t.Helper()
	needNamespace(w.t, name)
	applyText(w.t, fmt.Sprintf("{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: %s}, spec: {hubAcceptsClient: true}}", name))
	w.available(name, "True")
}

// available sets whether a cluster is available on the hub.
func (w world) available(name, status string) {
	w.t.Helper()
	available := condition("ManagedClusterConditionAvailable")
	available["status"] = status
	w.status("managedcluster", "", name, map[string]any{"conditions": []any{
		condition("HubAcceptedManagedCluster"), condition("ManagedClusterJoined"), available,
	}})
}

func condition(kind string) map[string]any {
	return map[string]any{"type": kind, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
}

func (w world) decide(cluster string) {
	w.t.Helper()
	applyText(w.t, `{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, metadata: {name: guestbook-1, namespace: argocd,
  labels: {cluster.open-cluster-management.io/placement: guestbook}}}`)
	w.status("placementdecision", "argocd", "guestbook-1", map[string]any{"decisions": []any{map[string]any{"clusterName": cluster, "reason": ""}}})
}

// application creates an Application like the ApplicationSet controller would from the example.
func (w world) application(name, cluster, set string, finalizers ...string) {
	w.t.Helper()
	uid, _ := kubectl(w.t, "-n", "argocd", "get", "applicationset", set, "-o", "jsonpath={.metadata.uid}")
	spec, _ := kubectl(w.t, "-n", "argocd", "get", "applicationset", set, "-o", "jsonpath={.spec.template.spec}")
	template, _ := kubectl(w.t, "-n", "argocd", "get", "applicationset", set, "-o", "jsonpath={.spec.template.metadata}")
	var metadata map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(template, "{{.name}}", cluster)), &metadata); err != nil {
		w.t.Fatal(err)
	}
	metadata["name"], metadata["namespace"] = name, "argocd"
	metadata["finalizers"] = finalizers
	metadata["ownerReferences"] = []any{map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": set, "uid": uid, "controller": true, "blockOwnerDeletion": true,
	}}
	content, err := json.Marshal(map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": json.RawMessage(spec),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	applyText(w.t, string(content))
}

// massDeletion creates Applications of an ApplicationSet and deletes them all after their delivery, which
// exceeds the deletion budget.
func (w world) massDeletion(cluster, set string, n int) {
	w.t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("mass-%d", i)
		w.application(names[i], cluster, set)
	}
	eventually(w.t, "their ManifestWorks", func() (bool, string) {
		found, _ := kubectl(w.t, "-n", cluster, "get", "manifestworks", "-o", "name")
		return strings.Count(found, "/mass-") == n, found
	})
	kubectl(w.t, append([]string{"-n", "argocd", "delete", "application.argoproj.io"}, names...)...)
}

// tenant delivers an Application outside the Argo CD namespace. Then it removes the namespace from the
// AppProject, and propagation deletes the ManifestWork.
func (w world) tenant(namespace, cluster string) {
	w.t.Helper()
	needNamespace(w.t, namespace)
	applyText(w.t, `{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: tenants, namespace: argocd}, spec: {sourceNamespaces: ["team-*"]}}`)
	applyText(w.t, `{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, metadata: {name: tenant-1, namespace: `+namespace+`}}`)
	w.status("placementdecision", namespace, "tenant-1", map[string]any{"decisions": []any{map[string]any{"clusterName": cluster, "reason": ""}}})
	applyText(w.t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: tenant, namespace: `+namespace+`,
  labels: {`+contract.PullLabel+`: "true"}, annotations: {`+contract.ClusterAnnotation+`: `+cluster+`, `+argocd.SkipReconcileAnnotation+`: "true"}},
  spec: {project: tenants, destination: {namespace: `+namespace+`}, source: {repoURL: "https://git.example.com/apps.git", path: guestbook}}}`)
	w.eventuallyThere("manifestworks", cluster)
	applyText(w.t, `{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: tenants, namespace: argocd}, spec: {sourceNamespaces: []}}`)
	w.eventuallyGone("manifestworks", cluster)
	kubectl(w.t, "-n", namespace, "delete", "application.argoproj.io", "tenant", "--wait", "--timeout=60s")
}

// work returns the name of the one ManifestWork for a cluster.
func (w world) work(cluster string) string {
	w.t.Helper()
	w.eventuallyThere("manifestworks", cluster)
	name, _ := kubectl(w.t, "-n", cluster, "get", "manifestworks", "-o", "jsonpath={.items[0].metadata.name}")
	return name
}

// answer writes the status of a ManifestWork like the work agent.
func (w world) answer(cluster, work, health, sync string) {
	w.t.Helper()
	out, _ := kubectl(w.t, "-n", cluster, "get", "manifestwork", work, "-o", "json")
	var o struct {
		Metadata struct {
			Generation  int64
			Annotations map[string]string
		}
		Spec struct {
			Workload struct {
				Manifests []struct {
					Kind     string
					Metadata struct{ Name, Namespace string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		w.t.Fatal(err)
	}
	applied, available := condition("Applied"), condition("Available")
	applied["observedGeneration"], available["observedGeneration"] = o.Metadata.Generation, o.Metadata.Generation
	manifests := o.Spec.Workload.Manifests
	i := slices.IndexFunc(manifests, func(m struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
	}) bool {
		return m.Kind == "Application"
	})
	if i < 0 {
		w.t.Fatalf("ManifestWork %s carries no Application", work)
	}
	value := func(name, s string) map[string]any {
		return map[string]any{"name": name, "fieldValue": map[string]any{"type": "String", "string": s}}
	}
	values := []any{value(contract.FeedbackHealthStatus, health), value(contract.FeedbackSyncStatus, sync), value(contract.FeedbackSyncRevision, "abc")}
	if request := o.Metadata.Annotations[contract.RequestAnnotation]; request != "" {
		values = append(values, value(contract.FeedbackRequest, request))
	}
	w.status("manifestwork", cluster, work, map[string]any{
		"conditions": []any{applied, available},
		"resourceStatus": map[string]any{"manifests": []any{map[string]any{
			"resourceMeta": map[string]any{
				"ordinal": i, "group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "resource": "applications",
				"name": manifests[i].Metadata.Name, "namespace": manifests[i].Metadata.Namespace,
			},
			"conditions":     []any{condition("Applied"), condition("Available")},
			"statusFeedback": map[string]any{"values": values},
		}}},
	})
}

func (w world) status(kind, ns, name string, status map[string]any) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		w.t.Fatal(err)
	}
	args := []string{"patch", kind, name, "--subresource=status", "--type=merge", "--patch", string(patch)}
	if ns != "" {
		args = append(args, "--namespace", ns)
	}
	kubectl(w.t, args...)
}

func (w world) names(kind, ns string, args ...string) string {
	out, stderr, err := try(w.t, tool("kubectl"), append([]string{"--kubeconfig", kubeconfig, "--namespace", ns, "get", kind, "-o", "name"}, args...)...)
	if err != nil {
		return stderr
	}
	return out
}

func (w world) eventuallyThere(kind, ns string, args ...string) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%s in %s %v", kind, ns, args), func() (bool, string) { s := w.names(kind, ns, args...); return s != "", s })
}

func (w world) eventuallyGone(kind, ns string, args ...string) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("no %s in %s %v", kind, ns, args), func() (bool, string) { s := w.names(kind, ns, args...); return s == "", s })
}

// eventuallyField waits until a field has a value. It calls the functions in meanwhile before each check.
func (w world) eventuallyField(kind, ns, name, path, want string, meanwhile ...func()) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%s %s/%s to have %s = %q", kind, ns, name, path, want), func() (bool, string) {
		for _, do := range meanwhile {
			do()
		}
		out, stderr, err := try(w.t, tool("kubectl"), "--kubeconfig", kubeconfig, "-n", ns, "get", kind, name, "-o", "jsonpath="+path)
		if err != nil {
			return false, stderr
		}
		return out == want, out
	})
}
