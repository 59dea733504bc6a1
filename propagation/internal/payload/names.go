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

// DeliveredName returns the namespace and name of an Application on its managed cluster.
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
		return "" // another check refuses such a spec
	}
	return s.Destination.Name
}

// ProjectName returns the name of an Application's project. As in Argo CD, an empty name means
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
		return "" // another check refuses such a spec
	}
	return s.Project
}

// sourcesOf returns the number of entries in spec.sources. It is 0 for a single source.
func sourcesOf(spec json.RawMessage) int {
	var s struct {
		Sources []json.RawMessage `json:"sources"`
	}
	if json.Unmarshal(spec, &s) != nil {
		return 0 // another check refuses such a spec
	}
	return len(s.Sources)
}

// ProjectNamespace returns the namespace of a project on the managed cluster. It is the
// Application's namespace if the Application is in Argo CD's own namespace on the cluster. An
// Application is in that namespace if it is in Argo CD's namespace on the hub, or if the user chose
// its namespace. For Applications in any namespace, it is the namespace where Argo CD is expected.
func ProjectNamespace(app *argocd.Application, argocdNamespace string) string {
	if namespace := DeliveredNamespace(app); app.Namespace == argocdNamespace || namespace != app.Namespace {
		return namespace
	}
	return argocdNamespace
}
