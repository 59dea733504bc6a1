// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// backend is a Deployment that needs no image and no scheduler.
const backend = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: %s
  selector: {matchLabels: {app: backend}}
  template:
    metadata: {labels: {app: backend}}
    spec: {nodeName: fake-1, containers: [{name: c, image: example.invalid/backend}]}
`

// TestSources_deliverChartsAndKustomizations delivers a chart and a kustomization, which Argo CD's own tools render.
func TestSources_deliverChartsAndKustomizations(t *testing.T) {
	t.Parallel()
	commitFiles(t, map[string]string{
		"chart/Chart.yaml":                "{apiVersion: v2, name: backend, version: 0.1.0}",
		"chart/values.yaml":               "replicas: 1\nsuffix: none",
		"chart/templates/deployment.yaml": fmt.Sprintf(backend, "{{ .Release.Name }}-{{ .Values.suffix }}", "{{ .Values.replicas }}"),
		"shared/values.yaml":              "suffix: shared",
		"base/kustomization.yaml":         "resources: [deployment.yaml]",
		"base/deployment.yaml":            fmt.Sprintf(backend, "backend", "1"),
		"overlay/kustomization.yaml":      "{resources: [../base], namePrefix: k-, replicas: [{name: backend, count: 2}]}",
	})
	cluster := fleet.Managed[0]
	helm := deploy(t, "by-helm", cluster.Name, "path: chart, plugin: {name: ocm, parameters: [{name: namespace, string: by-helm}, {name: create-namespace, string: 'true'}, "+
		"{name: values-files, array: [../shared/values.yaml]}, {name: values, map: {replicas: '3'}}]}")
	kustomize := deploy(t, "by-kustomize", cluster.Name, plugin("overlay", "namespace", "by-kustomize", "create-namespace", "true"))
	for _, c := range []struct {
		application *unstructured.Unstructured
		deployment  string
		replicas    int64
	}{{helm, "by-helm-shared", 3}, {kustomize, "k-backend", 2}} {
		awaitStatus(t, c.application, "Synced Healthy 2 of 2 resources")
		awaitObject(t, cluster, object("apps/v1", "Deployment", c.application.GetName(), c.deployment), func(o *unstructured.Unstructured) (bool, string) {
			available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
			return available == c.replicas, fmt.Sprint(available, " available")
		})
	}
}

// TestWaves_waitForHooksAndHealth checks that the first wave waits until a hook is complete on the managed cluster. The
// second wave waits until the first one is healthy there. The test uses a separate branch, because another
// commit would run the hook again, which completes only once.
func TestWaves_waitForHooksAndHealth(t *testing.T) {
	t.Parallel()
	const namespace, lateNode, branch = "waves", "late", "waves"
	_, err := fleet.Git.CommitTo(t.Context(), branch, "Waves and a hook", map[string]string{
		"waves/hook.yaml": `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {template: {spec: {nodeName: fake-1, restartPolicy: Never, containers: [{name: c, image: example.invalid/migrate}]}}}
`,
		"waves/backend.yaml":  strings.Replace(fmt.Sprintf(backend, "backend", "1"), "fake-1", lateNode, 1),
		"waves/frontend.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: frontend, annotations: {argocd.argoproj.io/sync-wave: "1"}}}`,
	})
	must(t, err)
	cluster := fleet.Managed[0]
	a := deployFrom(t, branch, "waves", cluster.Name, plugin("waves", "namespace", namespace, "create-namespace", "true"))

	awaitOperation(t, a, "Running", "waiting for completion of hook work.open-cluster-management.io/ManifestWork/"+contract.RenderedWorkName("waves", "-presync"))
	for _, name := range []string{"waves", contract.RenderedWorkName("waves", "-w1")} {
		missing(t, work(cluster.Name, name))
	}
	complete(t, object("batch/v1", "Job", namespace, "migrate"))
	awaitOperation(t, a, "Running", "waiting for healthy state of work.open-cluster-management.io/ManifestWork/waves")
	missing(t, work(cluster.Name, contract.RenderedWorkName("waves", "-w1")))
	node := object("v1", "Node", "", lateNode) // the pods start on this node
	must(t, cluster.Apply(t.Context(), node))
	t.Cleanup(func() { must(t, cluster.Client.Delete(context.WithoutCancel(t.Context()), node)) })
	awaitStatus(t, a, "Synced Healthy")
	awaitObject(t, cluster, object("v1", "ConfigMap", namespace, "frontend"), func(*unstructured.Unstructured) (bool, string) { return true, "" })
}

// complete acts as the job controller of the first cluster, which the fleet does not have.
func complete(t *testing.T, job *unstructured.Unstructured) {
	t.Helper()
	cluster := fleet.Managed[0]
	awaitObject(t, cluster, job, func(*unstructured.Unstructured) (bool, string) { return true, "" })
	var status map[string]any
	must(t, yaml.Unmarshal([]byte(strings.ReplaceAll(`
startTime: NOW
completionTime: NOW
succeeded: 1
uncountedTerminatedPods: {}
conditions:
- {type: SuccessCriteriaMet, status: "True", lastTransitionTime: NOW}
- {type: Complete, status: "True", lastTransitionTime: NOW}
`, "NOW", time.Now().UTC().Format(`"2006-01-02T15:04:05Z"`))), &status))
	// The work agent may write the Job's metadata meanwhile.
	testkit.EditStatus(t, cluster.Client, job, func(job *unstructured.Unstructured) { job.Object["status"] = status })
}

func missing(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
		t.Errorf("%s %s is there too early: %v", o.GetKind(), o.GetName(), err)
	}
}
