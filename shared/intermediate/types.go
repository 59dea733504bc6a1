// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import "time"

// SchemaVersion is the version that [Store.Write] writes. Version 1 has in each row the
// list of resources itself in place of its number.
const SchemaVersion = 2

// Report is what search returned about one ApplicationSet.
type Report struct {
	// SchemaVersion says how to read the rest.
	SchemaVersion int `json:"schemaVersion"`
	// Namespace and Name are the ApplicationSet's, on the hub.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Applications are sorted by cluster, namespace and name.
	Applications []Application `json:"applications"`
	// UnreadClusters are the managed clusters about which the report says nothing, sorted:
	// search shows them and has given no trustworthy answer about them since this directory
	// was made, or what they have does not fit into reports. What a reader knew of them
	// before is still the best that exists. Every other cluster is spoken for, also one
	// without Applications here.
	UnreadClusters []string `json:"unreadClusters,omitempty"`
	// UnreadSince is the time from which on nothing is known of them.
	UnreadSince *time.Time `json:"unreadSince,omitempty"`
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
	// The file has each list once, and [Store.Read] returns it for all rows that refer to it.
	Resources []Resource `json:"-"`
	// HeldResources are those of Resources that search has left out for less than five
	// minutes, in the same order.
	HeldResources []HeldResource `json:"heldResources,omitempty"`
	// LeftOut counts the resources that did not fit into the report.
	LeftOut int `json:"leftOut,omitempty"`
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

// List identifies a list of resources by its place in memory: rows with the same List
// share one list.
type List struct {
	first *Resource
	size  int
}

// ListOf returns the identity of a list; that of an empty list is the zero one.
func ListOf(resources []Resource) List {
	if len(resources) == 0 {
		return List{}
	}
	return List{first: &resources[0], size: len(resources)}
}
