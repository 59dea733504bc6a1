// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// uid returns the UID of an object's row.
func uid(cluster string, object metav1.Object) string {
	return cluster + "/" + string(object.GetUID())
}

// objectRow returns the row of an object: the columns of every kind, and further columns that the
// product reads. The real collector has more, mainly of workloads.
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
	case "Pod":
		if owner := metav1.GetControllerOf(object); owner != nil && (owner.Kind == "ReplicaSet" || owner.Kind == "ReplicationController") {
			data["_ownerUID"] = cluster + "/" + string(owner.UID)
		}
	}
	return table.Row{UID: uid(cluster, object), Cluster: cluster, Data: data}
}

// stamp formats a time like the service: UTC, whole seconds.
func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

func stringMap(values map[string]string) map[string]any {
	out := make(map[string]any, len(values))
	for key, value := range values {
		out[key] = value
	}
	return out
}
