// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import "time"

// SchemaVersion is the version that [Store.Write] writes.
const SchemaVersion = 1

// Report is what search returned about one ApplicationSet.
type Report struct {
	// SchemaVersion says how to read the rest.
	SchemaVersion int `json:"schemaVersion"`
	// Namespace and Name are the ApplicationSet's, on the hub.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Applications are sorted by cluster, namespace and name.
	Applications []Application `json:"applications"`
	// UnreadClusters are the managed clusters that search shows and of which it has given
	// no trustworthy answer since this directory was made, sorted. The report says
	// nothing about them: what a reader knew of them before is still the best there
	// is. Every other cluster is spoken for, also one without Applications here.
	UnreadClusters []string `json:"unreadClusters,omitempty"`
	// Refused counts the entries that [Store.Read] left out since their names are out
	// of bounds; it is not part of the file.
	Refused int `json:"-"`
}

// Application is one delivered Application, as search sees it.
type Application struct {
	// Cluster is the managed cluster; Namespace and Name are the Application's there.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Resources are what the Application deploys or misses, sorted and without doubles.
	Resources []Resource `json:"resources,omitempty"`
	// HeldResources are those of Resources that search has left out for less than five
	// minutes, in the same order.
	HeldResources []HeldResource `json:"heldResources,omitempty"`
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

// HeldResource is a resource that search no longer lists as the Application's.
type HeldResource struct {
	Resource
	// Since is when search first left it out.
	Since time.Time `json:"since"`
}

// Condition is an error or warning.
type Condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}
