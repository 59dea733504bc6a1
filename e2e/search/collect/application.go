// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// hostingAnnotation names the ApplicationSet of a pulled Application, as <namespace>/<name>. It is
// a copy of the product's constant, because the real collector belongs to another project.
const hostingAnnotation = "apps.open-cluster-management.io/hosting-applicationset"

// maxMessage is the highest number of runes in a condition's message.
const maxMessage = 512

// addApplication adds the columns of an Argo CD Application.
func addApplication(data map[string]any, object *unstructured.Unstructured) {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, path...)
		return value
	}
	source := applicationSource(object)
	for property, value := range map[string]string{
		"path":                 source["path"],
		"chart":                source["chart"],
		"repoURL":              source["repoURL"],
		"targetRevision":       source["targetRevision"],
		"destinationName":      text("spec", "destination", "name"),
		"destinationNamespace": text("spec", "destination", "namespace"),
		"destinationServer":    text("spec", "destination", "server"),
		"healthStatus":         text("status", "health", "status"),
		"syncStatus":           text("status", "sync", "status"),
		"applicationSet":       "",
	} {
		data[property] = value
	}
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == "ApplicationSet" {
			data["applicationSet"] = owner.Name
		}
	}
	if hosting := object.GetAnnotations()[hostingAnnotation]; hosting != "" {
		data["_hostingResource"] = "ApplicationSet/" + hosting
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok {
			kind, _ := fields["type"].(string)
			message, _ := fields["message"].(string)
			if kind != "" {
				data["_condition"+kind] = shorten(message)
			}
		}
	}
	settled := data["healthStatus"] == "Healthy" && data["syncStatus"] == "Synced"
	message := text("status", "operationState", "message")
	if !settled && text("status", "operationState", "phase") != "Succeeded" && message != "" {
		data["_conditionOperationError"] = shorten(message)
	}
}

// applicationSource returns the source, or the first of several sources.
func applicationSource(object *unstructured.Unstructured) map[string]string {
	source, found, _ := unstructured.NestedMap(object.Object, "spec", "source")
	if !found {
		sources, _, _ := unstructured.NestedSlice(object.Object, "spec", "sources")
		if len(sources) > 0 {
			source, _ = sources[0].(map[string]any)
		}
	}
	out := map[string]string{}
	for key, value := range source {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}

// shorten cuts a message to the collector's limit.
func shorten(message string) string {
	runes := []rune(message)
	if len(runes) <= maxMessage {
		return message
	}
	return string(runes[:maxMessage]) + "..."
}

// resource is an entry of an Application's status.resources, with Argo CD's keys. The list of missing
// resources has the same keys.
type resource struct {
	Group     string  `json:"group,omitempty"`
	Version   string  `json:"version,omitempty"`
	Kind      string  `json:"kind,omitempty"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name,omitempty"`
	Health    *health `json:"health,omitempty"`
}

type health struct {
	Status string `json:"status,omitempty"`
}

// resources returns the resources that an Application's status lists.
func resources(application *unstructured.Unstructured) []resource {
	listed, _, _ := unstructured.NestedFieldNoCopy(application.Object, "status", "resources")
	encoded, err := json.Marshal(listed)
	if err != nil {
		return nil
	}
	var out []resource
	if json.Unmarshal(encoded, &out) != nil {
		return nil
	}
	return out
}

// addMissing adds the resources that the cluster does not have.
func addMissing(row table.Row, missing []resource) {
	if len(missing) > 0 {
		row.Data["_missingResources"] = string(table.Encode(missing))
	}
}
