// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the names of the Applications and ApplicationSets during the upgrade.
const (
	guestbook = scenario.ApplicationSet // gets a commit at each step
	rollout   = "rolling"               // waits in the middle of a rollout
	once      = "once"                  // gets an operation at each step
)

func configMap(name, version string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {version: " + version + "}\n"
}

// await is [scenario.View.Expect] on the view of the fleet.
func await(t *testing.T, name string, what func() (holds bool, saw string)) {
	t.Helper()
	view.Expect(t, name, what)
}

func commit(t *testing.T, message string, files map[string]string) string {
	t.Helper()
	revision, err := fleet.Git.Commit(t.Context(), message, files)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// deliver applies the guestbook and an Application without automated sync. It waits until the guestbook is
// healthy and the Application is OutOfSync.
func deliver(t *testing.T) {
	t.Helper()
	revision := commit(t, "Add what is synced on demand", map[string]string{once + "/config.yaml": configMap(once, "v1")})
	if err := fleet.Hub.ApplyFiles(t.Context(), scenario.Examples("guestbook-app-set.yaml")); err != nil {
		t.Fatal(err)
	}
	a := &argocd.Application{Spec: json.RawMessage(`{"project":"guestbook","source":{"repoURL":"` + env.RepositoryURL + `","targetRevision":"main","path":"` + once + `"},
		"destination":{"server":"` + argocd.InClusterServer + `","namespace":"guestbook"}}`)}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	a.Namespace, a.Name, a.Labels = env.ArgoCDNamespace, once, map[string]string{contract.PullLabel: "true"}
	a.Annotations = map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"}
	if err := fleet.Hub.Client.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	await(t, once+" to be OutOfSync on the hub", func() (bool, string) {
		seen, _ := view.Application("hub", once)
		return seen.Sync == argocd.SyncOutOfSync, seen.String()
	})
	awaitReported(t, revision, guestbookDeployment)
}

// guestbookDeployment is a resource of the guestbook from its first revision on.
const guestbookDeployment = "guestbook-ui"

// awaitReported waits until the guestbook is healthy at a revision, on the hub and in the report, and the
// report has a resource from search.
func awaitReported(t *testing.T, revision, resource string) {
	t.Helper()
	for _, c := range fleet.Managed {
		name := c.Name + "-" + guestbook
		await(t, name+" to be well at "+scenario.Short(revision)+" in the report", func() (bool, string) {
			hub, _ := view.Application("hub", name)
			row, _ := view.ReportRow(guestbook, name)
			return hub.SyncedAndHealthy(revision) && row.SyncedAndHealthy(revision), "hub: " + hub.String() + ", report: " + row.String()
		})
	}
	await(t, "the report to list "+resource, func() (bool, string) {
		report := view.Report(guestbook)
		if report == nil {
			return false, "no report"
		}
		listed := slices.ContainsFunc(report.Statuses.Resources, func(r v1alpha1.ResourceRef) bool { return r.Name == resource })
		return listed, fmt.Sprint(report.Statuses.Resources)
	})
}

// awaitCommit pushes a new ConfigMap and waits until the commit is in the report, with the ConfigMap from
// search. If aggregation does not read the files, the report keeps the earlier resources.
func awaitCommit(t *testing.T, step int, readsFiles bool) {
	t.Helper()
	name := fmt.Sprintf("step-%d", step)
	listed := name
	if !readsFiles {
		listed = guestbookDeployment
	}
	awaitReported(t, commit(t, "Take step "+name, map[string]string{"guestbook/" + name + ".yaml": configMap(name, "v1")}), listed)
}

func patch(t *testing.T, name, body string) {
	t.Helper()
	a := &argocd.Application{}
	a.Namespace, a.Name = env.ArgoCDNamespace, name
	if err := fleet.Hub.Client.Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// operate requests a sync on the hub and waits until propagation has sent it to a stopped work agent. The
// agent starts again with resume. So one version sends the operation, and another version observes its end.
func operate(t *testing.T) (resume func()) {
	t.Helper()
	agent, err := fleet.Processes.Get("cluster1-work-agent")
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := workOf(t, once).Generation
	patch(t, once, `{"operation":{"initiatedBy":{"username":"e2e"},"sync":{"revision":"main"}}}`)
	await(t, "the operation to be sent", func() (bool, string) {
		w := workOf(t, once)
		return w.Generation > before, fmt.Sprintf("generation %d, %v", w.Generation, w.Annotations)
	})
	return func() {
		t.Helper()
		if err := agent.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func workOf(t *testing.T, name string) *workv1.ManifestWork {
	t.Helper()
	for _, w := range view.Works() {
		if w.Annotations[contract.HubNameAnnotation] == name {
			return w
		}
	}
	t.Fatalf("no ManifestWork for %s", name)
	return nil
}

// operations are the operations in the status of an Application on its cluster.
type operations struct {
	History        []json.RawMessage
	OperationState struct{ StartedAt, Phase string }
}

func operationsOf(t *testing.T, cluster, name string) (o operations) {
	t.Helper()
	a := get(t, cluster, name)
	if len(a.Status) > 0 {
		if err := json.Unmarshal(a.Status, &o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func get(t *testing.T, cluster, name string) *argocd.Application {
	t.Helper()
	a := &argocd.Application{}
	if err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// awaitOperation waits until the hub has no pending operation. It fails the test unless the managed cluster
// has run as many operations as were requested.
func awaitOperation(t *testing.T, asked int) {
	t.Helper()
	await(t, "the operation to be done", func() (bool, string) {
		a := get(t, "hub", once)
		seen, _ := view.Application("hub", once)
		return len(a.Operation) == 0 && seen.SyncedAndHealthy("") && seen.Phase == argocd.OperationSucceeded, fmt.Sprintf("%s %s", seen, a.Operation)
	})
	if ran := len(operationsOf(t, "cluster1", once).History); ran != asked {
		t.Errorf("the managed cluster ran %d operations, %d were asked for", ran, asked)
	}
}
