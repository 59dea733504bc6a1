// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import "time"

// SchemaVersion is the version that [Store.Write] writes. In version 1, each row has the list of
// resources itself instead of its number.
const SchemaVersion = 2

// Report is the result of search about one ApplicationSet.
type Report struct {
	// SchemaVersion is the version of the other fields.
	SchemaVersion int `json:"schemaVersion"`
	// Namespace and Name are the ApplicationSet's, on the hub.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Applications are sorted by cluster, namespace and name.
	Applications []Application `json:"applications"`
	// UnreadClusters are the managed clusters about which the report lacks data, sorted. Search
	// lists them, but has given no trustworthy answer about them since this directory was created,
	// or some of their data does not fit into reports. A reader keeps its earlier data about
	// Applications on these clusters that have no row here, because no better data exists. The
	// report covers every other cluster, even a cluster without Applications here.
	UnreadClusters []string `json:"unreadClusters,omitempty"`
	// UnreadSince is the time from which on nothing is known of them.
	UnreadSince *time.Time `json:"unreadSince,omitempty"`
	// Refused counts the entries that [Store.Read] left out because their names are out of bounds.
	// It is not part of the file.
	Refused int `json:"-"`
}

// Application is one delivered Application, as search reports it.
type Application struct {
	// Cluster is the managed cluster. Namespace and Name are the Application's on that cluster.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Resources are the resources that the Application deploys or misses, sorted and without
	// duplicates. The file has each list once, and [Store.Read] returns it for all rows that refer
	// to it.
	Resources []Resource `json:"-"`
	// HeldResources is the part of Resources that search has left out for less than five minutes,
	// in the same order.
	HeldResources []HeldResource `json:"heldResources,omitempty"`
	// LeftOut counts the resources that did not fit into the report.
	LeftOut int `json:"leftOut,omitempty"`
	// Conditions are its errors and warnings, sorted by type.
	Conditions []Condition `json:"conditions,omitempty"`
	// StaleSince is set while search gives no trustworthy answer for the cluster. The data is as of
	// StaleSince.
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

// List identifies a list of resources by its address in memory. Rows with the same List share one
// list.
type List struct {
	first *Resource
	size  int
}

// ListOf returns the identity of a list. The identity of an empty list is the zero List.
func ListOf(resources []Resource) List {
	if len(resources) == 0 {
		return List{}
	}
	return List{first: &resources[0], size: len(resources)}
}
