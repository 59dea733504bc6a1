// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Existing has the objects in the hub's Argo CD namespace.
type Existing struct {
	Services    []corev1.Service
	Routes      []Route
	Deployments []appsv1.Deployment
	// Params is the data of the ConfigMaps of [ParamsOf] by name. A missing one is empty.
	Params map[string]map[string]string
}

// Route is an OpenShift Route.
type Route struct {
	// Host that the Route was admitted with, Service that it leads to.
	Host, Service string
	Labels        map[string]string
}
