// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MulticlusterApplicationSetReport has the state of an ApplicationSet's Applications on
// their managed clusters. Its namespace and name are those of the ApplicationSet.
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
	// Resources lists the resources that the Applications deploy, without duplicates.
	// +optional
	Resources []ResourceRef `json:"resources,omitempty"`

	// ClusterConditions has one object for each Application, sorted by cluster. The
	// fields of an object are strings, except syncRevisions and conditions:
	// cluster: the managed cluster;
	// app: "<hub namespace>/<hub name>/<cluster>/<ManifestWork name>";
	// healthStatus: Healthy, Progressing, Degraded, Suspended, Missing or Unknown;
	// syncStatus: Synced, OutOfSync or Unknown;
	// syncRevision: the revision that Argo CD compared the Application with;
	// syncRevisions: a list of these revisions, for an Application with several sources;
	// operationStatePhase: Running, Terminating, Failed, Error or Succeeded;
	// operationStateStartedAt: when the last operation started, as RFC 3339;
	// staleSince: since when search has returned no reliable data, as RFC 3339;
	// conditions: a list of errors and warnings, each with a type and a message.
	// The API server does not validate these fields. Validating thousands of objects would
	// more than double the cost of a write.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	ClusterConditions []ClusterCondition `json:"clusterConditions,omitempty"`

	// Summary counts all Applications, including those that did not fit into the report.
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
	// SyncRevision is the revision that Argo CD compared the Application with.
	// +optional
	SyncRevision string `json:"syncRevision,omitempty"`
	// SyncRevisions has the revisions of an Application with several sources, at most
	// eight. SyncRevision is then empty.
	// +optional
	SyncRevisions []string `json:"syncRevisions,omitempty"`
	// App is "<hub namespace>/<hub name>/<cluster>/<ManifestWork name>".
	// +optional
	App string `json:"app,omitempty"`
	// StaleSince is the time, as RFC 3339, since when search has returned no reliable data
	// about the Application. It is empty while search does, and without a search service.
	// Values that only search reports are as old as this time.
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

// ReportSummary has counts of Applications and clusters, as decimal strings.
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
	// NotHealthy is the number of Applications that are not Healthy, including Progressing.
	// +optional
	NotHealthy string `json:"notHealthy,omitempty"`
	// InProgress is the number of Applications that are Progressing.
	// +optional
	InProgress string `json:"inProgress,omitempty"`
}
