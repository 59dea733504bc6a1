// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// DeliveredNamespace returns the Application's namespace on the managed cluster.
func DeliveredNamespace(app *argocd.Application) string {
	if namespace := app.Annotations[contract.AppNamespaceAnnotation]; namespace != "" {
		return namespace
	}
	return app.Namespace
}

// DeliveredName returns what an Application is called on its managed cluster.
func DeliveredName(app *argocd.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: DeliveredNamespace(app), Name: app.Name}
}

// Destination returns spec.destination.name and .server of the delivered copy.
func Destination(annotations map[string]string) (name, server string) {
	name, server = annotations[contract.DestinationNameAnnotation], annotations[contract.DestinationServerAnnotation]
	if name == "" && server == "" {
		server = argocd.InClusterServer
	}
	return name, server
}

// HubDestination returns spec.destination.name of an Application on the hub.
func HubDestination(app *argocd.Application) string {
	var s struct {
		Destination struct {
			Name string `json:"name"`
		} `json:"destination"`
	}
	if json.Unmarshal(app.Spec, &s) != nil {
		return "" // such a spec is refused elsewhere
	}
	return s.Destination.Name
}

// ProjectName returns the name of an Application's project; Argo CD takes none for
// "default".
func ProjectName(app *argocd.Application) string {
	if name := projectOf(app.Spec); name != "" {
		return name
	}
	return argocd.DefaultProject
}

// projectOf returns the name of the AppProject in a spec, "" when none is named.
func projectOf(spec json.RawMessage) string {
	var s struct {
		Project string `json:"project"`
	}
	if json.Unmarshal(spec, &s) != nil {
		return "" // such a spec is refused elsewhere
	}
	return s.Project
}

// sourcesOf returns how many entries spec.sources has: none for a single source.
func sourcesOf(spec json.RawMessage) int {
	var s struct {
		Sources []json.RawMessage `json:"sources"`
	}
	if json.Unmarshal(spec, &s) != nil {
		return 0 // such a spec is refused elsewhere
	}
	return len(s.Sources)
}

// ProjectNamespace returns where a project belongs on the managed cluster: beside
// the Application when that goes to Argo CD's own namespace there (because it is in
// Argo CD's on the hub, or because the user chose its namespace), else, for
// Applications in any namespace, where Argo CD is expected.
func ProjectNamespace(app *argocd.Application, argocdNamespace string) string {
	if namespace := DeliveredNamespace(app); app.Namespace == argocdNamespace || namespace != app.Namespace {
		return namespace
	}
	return argocdNamespace
}
