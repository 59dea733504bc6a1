// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Values of status.phase. Other tools read them.
const (
	PhaseSuccessful = "successful"
	PhaseFailed     = "failed"
)

// Condition types. Ready has the reason and message of the first one that is not True.
const (
	ConditionSpecAccepted       = "SpecAccepted"
	ConditionPlacementResolved  = "PlacementResolved"
	ConditionClustersRegistered = "ClustersRegistered"
	ConditionPrincipalFound     = "PrincipalFound"
	ConditionCertificatesReady  = "CertificatesReady"
	ConditionAgentsDeployed     = "AgentsDeployed"
	ConditionAgentsConnected    = "AgentsConnected"
	ConditionLeaving            = "Leaving"
	// These exist, and are True, only while there is a problem that does not affect Ready.
	ConditionOrphaned              = "Orphaned"
	ConditionProjectsOverwritten   = "ProjectsOverwritten"
	ConditionApplicationsNotSynced = "ApplicationsNotSynced"
	ConditionReady                 = "Ready"
)

// GitOpsClusterStatus has the state of the clusters.
type GitOpsClusterStatus struct {
	// ObservedGeneration is the metadata.generation for which the status was written.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is successful or failed. Condition Ready has the reason.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Message is the first line of condition Ready.
	// +optional
	Message string `json:"message,omitempty"`
	// LastUpdateTime is when the status last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
	// Mode is registration, managed or autonomous.
	// +optional
	Mode string `json:"mode,omitempty"`
	// Clusters has counts of clusters.
	// +optional
	Clusters *ClusterCounts `json:"clusters,omitempty"`
	// Principal is the principal that agents connect to.
	// +optional
	Principal *PrincipalStatus `json:"principal,omitempty"`
	// Waiting has at most 20 clusters that are not ready. The counts include all clusters.
	// +optional
	Waiting []ClusterWait `json:"waiting,omitempty"`
	// Leaving has at most 20 clusters that are being removed.
	// +optional
	Leaving []ClusterWait `json:"leaving,omitempty"`
	// Plan lists the writes of a dry run, at most 200. Annotation
	// apps.open-cluster-management.io/dry-run requests one.
	// +optional
	Plan []PlannedWrite `json:"plan,omitempty"`
	// Planned is the number of writes of the dry run, including those that Plan omits.
	// +optional
	Planned int `json:"planned,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterCounts counts clusters.
type ClusterCounts struct {
	// Selected is the number of clusters that the Placement selects, without the hub itself
	// and clusters that are not accepted.
	Selected int `json:"selected"`
	// Registered is the number of clusters that have their cluster Secret.
	Registered int `json:"registered"`
	// Deployed is the number of clusters that run the agent.
	Deployed int `json:"deployed"`
	// Connected is the number of clusters whose agent is connected.
	Connected int `json:"connected"`
	// Leaving is the number of clusters that are not selected any more, and have not been
	// removed yet.
	Leaving int `json:"leaving"`
	// Taken is the number of clusters whose cluster Secret belongs to another writer.
	Taken int `json:"taken"`
}

// PrincipalStatus has the detected properties of the principal.
type PrincipalStatus struct {
	// +optional
	Address string `json:"address,omitempty"`
	// +optional
	Port int32 `json:"port,omitempty"`
	// Source is the field or object that the address comes from.
	// +optional
	Source string `json:"source,omitempty"`
	// +optional
	Image string `json:"image,omitempty"`
	// +optional
	Version string `json:"version,omitempty"`
}

// ClusterWait is a cluster, and what gitopscluster waits for.
type ClusterWait struct {
	Cluster string `json:"cluster"`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	For   string       `json:"for"`
}

// PlannedWrite is a write that a dry run does not perform.
type PlannedWrite struct {
	// Verb is create, patch, delete or restart. It is wait if the next write is not known yet.
	Verb string `json:"verb"`
	Kind string `json:"kind"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Why       string `json:"why"`
}
