// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// uid returns the UID of an object's row.
func uid(cluster string, object metav1.Object) string {
	return cluster + "/" + string(object.GetUID())
}

// objectRow returns the row of an object: what every kind has, and what the
// collector knows of this kind.
func objectRow(cluster, plural string, object *unstructured.Unstructured) table.Row {
	group, version, grouped := strings.Cut(object.GetAPIVersion(), "/")
	data := map[string]any{
		"kind":        object.GetKind(),
		"kind_plural": plural,
		"name":        object.GetName(),
		"created":     stamp(object.GetCreationTimestamp()),
	}
	if grouped {
		data["apigroup"], data["apiversion"] = group, version
	} else {
		data["apiversion"] = group
	}
	if namespace := object.GetNamespace(); namespace != "" {
		data["namespace"] = namespace
	}
	if labels := object.GetLabels(); len(labels) > 0 {
		data["label"] = stringMap(labels)
	}
	switch object.GroupVersionKind().GroupKind().String() {
	case "Application.argoproj.io":
		addApplication(data, object)
	case "Deployment.apps":
		addCounts(data, object, map[string]string{
			"available": "availableReplicas", "current": "replicas", "ready": "readyReplicas",
		})
	case "ReplicaSet.apps":
		addCounts(data, object, map[string]string{"current": "replicas"})
	case "Service":
		addService(data, object)
	case "Pod":
		addPod(data, cluster, object)
	}
	return table.Row{UID: uid(cluster, object), Cluster: cluster, Data: data}
}

// stamp returns a time in the service's form: UTC, whole seconds.
func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

func stringMap(values map[string]string) map[string]any {
	out := make(map[string]any, len(values))
	for key, value := range values {
		out[key] = value
	}
	return out
}

// addCounts adds the replicas that the spec asks for and the status counts.
func addCounts(data map[string]any, object *unstructured.Unstructured, fields map[string]string) {
	for property, field := range fields {
		data[property] = count(object, "status", field)
	}
	data["desired"] = count(object, "spec", "replicas")
}

func count(object *unstructured.Unstructured, path ...string) int {
	number, _, _ := unstructured.NestedInt64(object.Object, path...)
	return int(number)
}

// addService adds what the collector knows of a Service.
func addService(data map[string]any, object *unstructured.Unstructured) {
	var service corev1.Service
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &service) != nil {
		return
	}
	data["clusterIP"] = service.Spec.ClusterIP
	data["type"] = string(service.Spec.Type)
	ports := make([]any, 0, len(service.Spec.Ports))
	for _, port := range service.Spec.Ports {
		ports = append(ports, portText(port))
	}
	data["port"] = ports
}

// addPod adds what the collector knows of a Pod.
func addPod(data map[string]any, cluster string, object *unstructured.Unstructured) {
	var pod corev1.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod) != nil {
		return
	}
	containers, images, restarts := []any{}, []any{}, 0
	for _, container := range pod.Spec.Containers {
		containers = append(containers, container.Name)
		images = append(images, container.Image)
	}
	for _, status := range pod.Status.ContainerStatuses {
		restarts += int(status.RestartCount)
	}
	data["container"], data["image"], data["restarts"] = containers, images, restarts
	data["hostIP"], data["podIP"] = pod.Status.HostIP, pod.Status.PodIP
	data["status"] = string(pod.Status.Phase)
	if pod.Status.StartTime != nil {
		data["startedAt"] = stamp(*pod.Status.StartTime)
	}
	if owner := metav1.GetControllerOf(&pod); owner != nil && (owner.Kind == "ReplicaSet" || owner.Kind == "ReplicationController") {
		data["_ownerUID"] = cluster + "/" + string(owner.UID)
	}
}
