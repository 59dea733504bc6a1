// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/ocm/pkg/work/helper"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// healthCases are objects of a managed cluster, each with the health that the agent must report. The plugin
// writes the rules, and the agent's own code matches and evaluates them.
var healthCases = map[string]struct {
	reason, object, resource string
	healthy, progressing     bool
	message                  string // of a manifest that is not healthy
}{
	"deployment/unseen": {
		reason: "no controller has looked at it", resource: "deployments",
		object:      `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":3}}`,
		progressing: true, message: "0 of 3 replicas available",
	},
	"deployment/available": {
		reason: "all that is asked for", resource: "deployments", healthy: true,
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":3},
			"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"availableReplicas":3,"conditions":[{"type":"Available","status":"True"}]}}`,
	},
	"deployment/default": {
		reason: "one replica where none is asked for", resource: "deployments", healthy: true,
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":1},"spec":{},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1}}`,
	},
	"deployment/none": {
		reason: "scaled to nothing, the controller leaves the numbers out", resource: "deployments", healthy: true,
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":0},"status":{"observedGeneration":1}}`,
	},
	"deployment/old": {
		reason: "the status is that of the spec before", resource: "deployments", progressing: true, message: "3 of 3 replicas available",
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":3},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"availableReplicas":3}}`,
	},
	"deployment/rollout": {
		reason: "old pods still serve", resource: "deployments", progressing: true, message: "4 of 3 replicas available",
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":4,"updatedReplicas":3,"availableReplicas":4}}`,
	},
	"deployment/deadline": {
		reason: "its own deadline has passed", resource: "deployments", message: "too late",
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":1},
			"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"conditions":[{"type":"Available","status":"False"},{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","message":"too late"}]}}`,
	},
	"deployment/quota": {
		reason: "pods cannot be created", resource: "deployments", message: "exceeded quota",
		object: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":1},
			"status":{"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"exceeded quota"}]}}`,
	},
	"statefulset/ready": {
		reason: "all pods are of the new revision", resource: "statefulsets", healthy: true,
		object: `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generation":1},"spec":{"replicas":2},"status":{"observedGeneration":1,"readyReplicas":2,"updatedReplicas":2}}`,
	},
	"statefulset/partition": {
		reason: "as many are updated as the partition lets", resource: "statefulsets", healthy: true,
		object: `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generation":1},"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}},
			"status":{"observedGeneration":1,"readyReplicas":3,"updatedReplicas":1}}`,
	},
	"statefulset/rolling": {
		reason: "one pod is still old", resource: "statefulsets", progressing: true, message: "2 of 2 replicas ready",
		object: `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generation":1},"spec":{"replicas":2},"status":{"observedGeneration":1,"readyReplicas":2,"updatedReplicas":1}}`,
	},
	"daemonset/available": {
		reason: "on every node", resource: "daemonsets", healthy: true,
		object: `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"generation":1},"spec":{},"status":{"observedGeneration":1,"desiredNumberScheduled":2,"numberAvailable":2,"updatedNumberScheduled":2}}`,
	},
	"daemonset/rolling": {
		reason: "one node has the old pod", resource: "daemonsets", progressing: true, message: "2 of 2 pods available",
		object: `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"generation":1},"spec":{},"status":{"observedGeneration":1,"desiredNumberScheduled":2,"numberAvailable":2,"updatedNumberScheduled":1}}`,
	},
	"replicaset/quota": {
		reason: "pods cannot be created", resource: "replicasets", message: "exceeded quota",
		object: `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True","message":"exceeded quota"}]}}`,
	},
	"job/running":  {reason: "a wave waits for it", resource: "jobs", progressing: true, message: "0 of 1 pods completed", object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"generation":1},"spec":{},"status":{"active":1}}`},
	"job/complete": {reason: "done", resource: "jobs", healthy: true, object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"generation":1},"spec":{},"status":{"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]}}`},
	"job/failed": {
		reason: "the hook fails", resource: "jobs", message: "backoff limit",
		object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"generation":1},"spec":{},"status":{"failed":1,"conditions":[{"type":"Failed","status":"True","message":"backoff limit"}]}}`,
	},
	"pod/ready":   {reason: "it serves", resource: "pods", healthy: true, object: `{"apiVersion":"v1","kind":"Pod","metadata":{},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`},
	"pod/done":    {reason: "it has done its work", resource: "pods", healthy: true, object: `{"apiVersion":"v1","kind":"Pod","metadata":{},"status":{"phase":"Succeeded"}}`},
	"pod/pending": {reason: "not scheduled", resource: "pods", progressing: true, message: "phase Pending", object: `{"apiVersion":"v1","kind":"Pod","metadata":{},"status":{"phase":"Pending"}}`},
	"pod/image": {
		reason: "the image is not there", resource: "pods", message: "phase Pending",
		object: `{"apiVersion":"v1","kind":"Pod","metadata":{},"status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff"}}},{"state":{"running":{}}}]}}`,
	},
	"pvc/bound":        {reason: "bound", resource: "persistentvolumeclaims", healthy: true, object: `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{},"status":{"phase":"Bound"}}`},
	"pvc/lost":         {reason: "its volume is gone", resource: "persistentvolumeclaims", message: "phase Lost", object: `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{},"status":{"phase":"Lost"}}`},
	"service/internal": {reason: "nothing to wait for", resource: "services", healthy: true, object: `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{}}`},
	"service/balancer": {reason: "no address yet", resource: "services", progressing: true, message: "no load balancer has answered", object: `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{}}}`},
	"service/address":  {reason: "it has an address", resource: "services", healthy: true, object: `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`},
	"ingress/waiting":  {reason: "no controller", resource: "ingresses", progressing: true, message: "no ingress controller has answered", object: `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{},"spec":{}}`},
	"crd/established":  {reason: "served", resource: "customresourcedefinitions", healthy: true, object: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{},"status":{"conditions":[{"type":"Established","status":"True"}]}}`},
	"crd/conflict": {
		reason: "another definition has its names", resource: "customresourcedefinitions", message: "taken",
		object: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{},"status":{"conditions":[{"type":"NamesAccepted","status":"False","message":"taken"},{"type":"Established","status":"False"}]}}`,
	},
	"apiservice/away": {
		reason: "its server does not answer", resource: "apiservices", progressing: true, message: "no endpoints",
		object: `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{},"status":{"conditions":[{"type":"Available","status":"False","message":"no endpoints"}]}}`,
	},
	"custom/plain": {reason: "no Ready condition: it is there", resource: "widgets", healthy: true, object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":4},"status":{"x":1}}`},
	"custom/odd":   {reason: "conditions of another form", resource: "widgets", healthy: true, object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":4},"status":{"conditions":{"ready":true}}}`},
	"custom/ready": {
		reason: "ready at this generation", resource: "widgets", healthy: true,
		object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":4},"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":4}]}}`,
	},
	"custom/stale": {
		reason: "ready before the change", resource: "widgets", progressing: true, message: "was fine",
		object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":4},"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":3,"message":"was fine"}]}}`,
	},
	"custom/notReady": {
		reason: "its controller says why", resource: "widgets", progressing: true, message: "waiting for DNS",
		object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":4},"status":{"conditions":[{"type":"Ready","status":"False","message":"waiting for DNS"}]}}`,
	},
	"own/healthy": {
		reason: "the manifest says itself when it is healthy", resource: "configmaps", healthy: true,
		object: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"apps.open-cluster-management.io/healthy-when":"object.data.state == 'done'"}},"data":{"state":"done"}}`,
	},
	"own/waiting": {
		reason: "and when it is not", resource: "configmaps", progressing: true, message: "Manifest is not Healthy",
		object: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"apps.open-cluster-management.io/healthy-when":"object.data.state == 'done'"}},"data":{"state":"begun"}}`,
	},
}

func TestHealthRules_reportHealthAndProgress(t *testing.T) {
	plugin := buildPlugin(t)
	reader, err := conditions.NewConditionReader()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range healthCases {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON([]byte(c.object)); err != nil {
				t.Fatal(err)
			}
			object.SetName("a")
			object.SetNamespace("b")
			config := helper.FindManifestConfiguration(workv1.ManifestResourceMeta{
				Group: object.GroupVersionKind().Group, Resource: c.resource, Namespace: "b", Name: "a",
			}, configsOf(t, plugin, object))
			if config == nil || len(config.ConditionRules) != 2 {
				t.Fatalf("%s: the agent finds %+v", c.reason, config)
			}
			if config.UpdateStrategy == nil || config.UpdateStrategy.Type != workv1.UpdateStrategyTypeServerSideApply {
				t.Errorf("%s: the agent would apply with %+v", c.reason, config.UpdateStrategy)
			}
			got := reader.EvaluateConditions(t.Context(), object, config.ConditionRules)
			for _, condition := range got {
				if condition.Reason != workv1.ConditionRuleEvaluated {
					t.Errorf("%s: %s cannot be evaluated: %s", c.reason, condition.Type, condition.Message)
				}
			}
			if meta.IsStatusConditionTrue(got, "Healthy") != c.healthy || meta.IsStatusConditionTrue(got, "Progressing") != c.progressing {
				t.Errorf("%s: the agent reports %+v", c.reason, got)
			}
			if healthy := meta.FindStatusCondition(got, "Healthy"); healthy.Status == metav1.ConditionFalse && healthy.Message != c.message {
				t.Errorf("%s: message %q, want %q", c.reason, healthy.Message, c.message)
			}
		})
	}
}

func buildPlugin(t *testing.T) string {
	t.Helper()
	plugin := filepath.Join(t.TempDir(), "plugin")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", plugin, "./plugin")
	command.Dir = "../../../../optional/rendered"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	return plugin
}

// configsOf returns the plugin's configuration of a manifest for the agent.
func configsOf(t *testing.T, plugin string, object *unstructured.Unstructured) []workv1.ManifestConfigOption {
	t.Helper()
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), plugin, "generate")
	command.Dir, command.Env = dir, []string{"ARGOCD_APP_NAME=a", "ARGOCD_APP_NAMESPACE=cluster1"}
	out, err := command.Output()
	if failed := (&exec.ExitError{}); err != nil {
		t.Fatalf("%v %s", err, failed.Stderr)
	}
	var work workv1.ManifestWork
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&work); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(work.Spec.Workload.Manifests[0].Raw), "healthy-when") {
		t.Error("the rule reaches the managed cluster")
	}
	return work.Spec.ManifestConfigs
}
