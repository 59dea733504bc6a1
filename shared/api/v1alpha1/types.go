// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MulticlusterApplicationSetReport tells how the Applications of one
// ApplicationSet fare on their managed clusters. It has the ApplicationSet's
// namespace and name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=appsetreport;appsetreports
// +kubebuilder:printcolumn:name="Clusters",type=string,JSONPath=`.statuses.summary.clusters`
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.statuses.summary.synced`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.statuses.summary.healthy`
// +kubebuilder:printcolumn:name="InProgress",type=string,JSONPath=`.statuses.summary.inProgress`
// +kubebuilder:printcolumn:name="NotHealthy",type=string,JSONPath=`.statuses.summary.notHealthy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MulticlusterApplicationSetReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Statuses is the content of the report.
	// +optional
	Statuses AppSetStatuses `json:"statuses,omitempty"`
}

// MulticlusterApplicationSetReportList is a list of reports.
//
// +kubebuilder:object:root=true
type MulticlusterApplicationSetReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MulticlusterApplicationSetReport `json:"items"`
}

// AppSetStatuses holds the resources, the state per Application and the counts.
type AppSetStatuses struct {
	// Resources is the union of what the Applications deploy on all clusters.
	// +optional
	Resources []ResourceRef `json:"resources,omitempty"`

	// ClusterConditions is a list with one object for each Application, sorted by
	// cluster. All their fields are strings, but for the lists:
	// cluster: the managed cluster;
	// app: "<hub namespace>/<hub name>/<cluster>/<ManifestWork name>";
	// healthStatus: Healthy, Progressing, Degraded, Suspended, Missing or Unknown;
	// syncStatus: Synced, OutOfSync or Unknown;
	// syncRevision: the revision that it was compared with;
	// syncRevisions: a list of those of several sources;
	// operationStatePhase: Running, Terminating, Failed, Error or Succeeded;
	// operationStateStartedAt: when the last operation started, as RFC 3339;
	// staleSince: since when search has given no trustworthy answer, as RFC 3339;
	// conditions: a list of its errors and warnings, each with a type and a message.
	// The schema says no more than that they are objects: checking the fields of
	// thousands of rows would be more than half of what a write costs the API server.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	ClusterConditions []ClusterCondition `json:"clusterConditions,omitempty"`

	// Summary counts over all Applications, also over rows that did not fit.
	// +optional
	Summary ReportSummary `json:"summary,omitempty"`
}

// ResourceRef names a deployed resource.
type ResourceRef struct {
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ClusterCondition is the state of one Application on its managed cluster.
type ClusterCondition struct {
	// Cluster is the managed cluster's name.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// HealthStatus is Healthy, Progressing, Degraded, Suspended, Missing or Unknown.
	// +optional
	HealthStatus string `json:"healthStatus,omitempty"`
	// SyncStatus is Synced, OutOfSync or Unknown.
	// +optional
	SyncStatus string `json:"syncStatus,omitempty"`
	// OperationStateStartedAt is when the last operation started, as RFC 3339.
	// +optional
	OperationStateStartedAt string `json:"operationStateStartedAt,omitempty"`
	// OperationStatePhase is Running, Terminating, Failed, Error or Succeeded.
	// +optional
	OperationStatePhase string `json:"operationStatePhase,omitempty"`
	// SyncRevision is the revision that the Application was compared with.
	// +optional
	SyncRevision string `json:"syncRevision,omitempty"`
	// SyncRevisions are those of the first eight of several sources; there is no
	// SyncRevision then.
	// +optional
	SyncRevisions []string `json:"syncRevisions,omitempty"`
	// App is "<hub namespace>/<hub name>/<cluster>/<ManifestWork name>".
	// +optional
	App string `json:"app,omitempty"`
	// StaleSince is since when search has given no trustworthy answer about the
	// Application, as RFC 3339; empty while it does, and without a search service.
	// What only search tells of it may be as old as that.
	// +optional
	StaleSince string `json:"staleSince,omitempty"`
	// Conditions are the errors and warnings of the Application.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is an error or warning of an Application.
type Condition struct {
	// +optional
	Type string `json:"type,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
}

// ReportSummary counts Applications (and distinct clusters) as decimal strings.
type ReportSummary struct {
	// Clusters is the number of distinct managed clusters.
	// +optional
	Clusters string `json:"clusters,omitempty"`
	// +optional
	Synced string `json:"synced,omitempty"`
	// +optional
	NotSynced string `json:"notSynced,omitempty"`
	// +optional
	Healthy string `json:"healthy,omitempty"`
	// NotHealthy counts everything that is not Healthy, Progressing included.
	// +optional
	NotHealthy string `json:"notHealthy,omitempty"`
	// InProgress counts Progressing.
	// +optional
	InProgress string `json:"inProgress,omitempty"`
}
