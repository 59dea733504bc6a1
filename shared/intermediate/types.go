// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import "time"

// SchemaVersion is the version that [Store.Write] writes.
const SchemaVersion = 1

// Report is what search knows about one ApplicationSet.
type Report struct {
	// SchemaVersion says how to read the rest.
	SchemaVersion int `json:"schemaVersion"`
	// Namespace and Name are the ApplicationSet's, on the hub.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Applications are sorted by cluster, namespace and name.
	Applications []Application `json:"applications"`
}

// Application is one delivered Application, as search sees it.
type Application struct {
	// Cluster is the managed cluster; Namespace and Name are the Application's there.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Resources are what the Application deploys or misses, sorted and without doubles.
	Resources []Resource `json:"resources,omitempty"`
	// Conditions are its errors and warnings, sorted by type.
	Conditions []Condition `json:"conditions,omitempty"`
	// StaleSince is set while search gave no trustworthy answer for the cluster:
	// the data is what was known at that time.
	StaleSince *time.Time `json:"staleSince,omitempty"`
}

// Resource names a resource on a managed cluster.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Condition is an error or warning.
type Condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}
