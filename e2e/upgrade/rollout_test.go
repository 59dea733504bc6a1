// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Names of what runs while the product is upgraded.
const (
	guestbook = scenario.ApplicationSet // follows a commit at each step, into the report
	rollout   = "rolling"               // waits in the middle of a rollout
	once      = "once"                  // is asked for an operation at each step
)

// neverHealthy is a Deployment whose pods no node takes, and a ConfigMap that is not
// synced before it is healthy: a sync of the two runs until somebody ends it.
const neverHealthy = `apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck, annotations: {argocd.argoproj.io/sync-wave: "0"}}
spec:
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec: {containers: [{name: c, image: "example.invalid/never:v1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stuck-after, annotations: {argocd.argoproj.io/sync-wave: "1"}}
`

func configMap(name, version string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {version: " + version + "}\n"
}

// await fails the test unless what comes true; what is asked at every change on the
// fleet's clusters and says what it saw.
func await(t *testing.T, name string, what func() (holds bool, saw string)) {
	t.Helper()
	if _, err := view.Await(t.Context(), name, what); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, message string, files map[string]string) string {
	t.Helper()
	revision, err := fleet.Git.Commit(t.Context(), message, files)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// deliver applies the guestbook and an Application that is synced on demand, and waits
// until both are well.
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
	awaitReported(t, revision, "guestbook-ui")
}

// awaitReported waits until the guestbook is well at a revision, on the hub and in the
// report, and the report has a resource from search.
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

// awaitCommit pushes something new, which has to travel all the way into the report, and
// its resource through search.
func awaitCommit(t *testing.T, step int) {
	t.Helper()
	name := fmt.Sprintf("step-%d", step)
	awaitReported(t, commit(t, "Take step "+name, map[string]string{"guestbook/" + name + ".yaml": configMap(name, "v1")}), name)
}

func patch(t *testing.T, name, body string) {
	t.Helper()
	a := &argocd.Application{}
	a.Namespace, a.Name = env.ArgoCDNamespace, name
	if err := fleet.Hub.Client.Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// operate asks for a sync on the hub and waits until propagation has sent it, to a work
// agent that rests until resume: one version sends the operation, another one sees it
// done.
func operate(t *testing.T) (resume func()) {
	t.Helper()
	agent, err := fleet.Process("cluster1-work-agent")
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

// operations are what an Application's cluster says about those that it ran.
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

// awaitOperation waits until the hub has nothing asked for any more, and fails the test
// unless the managed cluster has run as many operations as were asked for.
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

// rolls is a rollout that waits for its first group.
type rolls struct{ startedAt string }

// startRollout brings a rollout to where its first group never gets well, and its second
// one waits.
func startRollout(t *testing.T) rolls {
	t.Helper()
	commit(t, "Add what rolls", map[string]string{
		"rolling-v1/config.yaml": configMap(rollout, "v1"), "rolling-v2/config.yaml": configMap(rollout, "v2"), "rolling-bad/config.yaml": neverHealthy,
	})
	applyRollout(t, "v1")
	awaitVersion(t, "cluster1", "v1")
	awaitVersion(t, "cluster2", "v1")
	// The controller goes by the status that it has: a group that has not answered yet
	// still looks well. So the second one answers later.
	later, err := fleet.Process("cluster2-work-agent")
	if err != nil {
		t.Fatal(err)
	}
	if err := later.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	applyRollout(t, "bad")
	await(t, "the first group to be at it", func() (bool, string) {
		a, _ := view.Application("hub", "rolling-cluster1")
		row, _ := view.ReportRow(rollout, "rolling-cluster1")
		at := func(a scenario.Application) bool {
			return a.Health == argocd.HealthProgressing && a.Phase == argocd.OperationRunning
		}
		return at(a) && at(row), "hub: " + a.String() + ", report: " + row.String()
	})
	if err := later.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the second group to be told of it, and to be left alone", func() (bool, string) {
		a, _ := view.Application("hub", "rolling-cluster2")
		row, _ := view.ReportRow(rollout, "rolling-cluster2")
		request := workOf(t, "rolling-cluster2").Annotations[contract.RequestAnnotation]
		return a.Sync == argocd.SyncOutOfSync && row.Sync == argocd.SyncOutOfSync && request == "", a.String() + ", " + row.String() + ", request " + request
	})
	return rolls{operationsOf(t, "cluster1", "rolling-cluster1").OperationState.StartedAt}
}

func applyRollout(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "e2e", "testdata", "rolling.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("FIRST", "cluster1", "SECOND", "cluster2").Replace(string(text))), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(o.Object, "rolling-"+path, "spec", "template", "spec", "source", "path"); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Apply(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func awaitVersion(t *testing.T, cluster, version string) {
	t.Helper()
	await(t, "the rollout to bring "+version+" to "+cluster, func() (bool, string) {
		a, _ := view.Application("hub", "rolling-"+cluster)
		return a.SyncedAndHealthy("") && versionOn(t, cluster) == version, a.String() + ", there: " + versionOn(t, cluster)
	})
}

// versionOn returns what a cluster has of what rolls.
func versionOn(t *testing.T, cluster string) string {
	t.Helper()
	c := &corev1.ConfigMap{}
	err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKey{Namespace: "guestbook", Name: rollout}, c)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return c.Data["version"]
}

// stands fails the test unless the first group is still at the operation that it was at,
// and the second one has not moved.
func (r rolls) stands(t *testing.T) {
	t.Helper()
	o := operationsOf(t, "cluster1", "rolling-cluster1").OperationState
	if o.StartedAt != r.startedAt || o.Phase != argocd.OperationRunning {
		t.Errorf("the first group's operation, started at %s, is %s since %s", r.startedAt, o.Phase, o.StartedAt)
	}
	if there := versionOn(t, "cluster2"); there != "v1" {
		t.Errorf("the second group has %q before the first one is well", there)
	}
}

// goesOn ends what the first group is stuck in, and waits until the next version is on
// both.
func (r rolls) goesOn(t *testing.T) {
	t.Helper()
	applyRollout(t, "v2")
	patch(t, "rolling-cluster1", `{"status":{"operationState":{"phase":"Terminating"}}}`)
	awaitVersion(t, "cluster1", "v2")
	awaitVersion(t, "cluster2", "v2")
}
