// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Values of status.phase, for those who know them.
const (
	PhaseSuccessful = "successful"
	PhaseFailed     = "failed"
)

// Condition types, in the order in which Ready looks at them.
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

// GitOpsClusterStatus says how far the clusters are. It is written once per change.
type GitOpsClusterStatus struct {
	// ObservedGeneration is the metadata.generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is successful or failed, as condition Ready says in full.
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
	// Clusters are counts.
	// +optional
	Clusters *ClusterCounts `json:"clusters,omitempty"`
	// Principal is the principal that agents dial.
	// +optional
	Principal *PrincipalStatus `json:"principal,omitempty"`
	// Waiting has at most 20 clusters that are not as they should be; counts are whole.
	// +optional
	Waiting []ClusterWait `json:"waiting,omitempty"`
	// Leaving has at most 20 clusters that are on their way out.
	// +optional
	Leaving []ClusterWait `json:"leaving,omitempty"`
	// Plan is what would be written, with annotation
	// apps.open-cluster-management.io/dry-run; at most 200 lines.
	// +optional
	Plan []PlannedWrite `json:"plan,omitempty"`
	// Planned is how many lines the plan has in all.
	// +optional
	Planned int `json:"planned,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterCounts counts clusters.
type ClusterCounts struct {
	// Selected by the Placement, without the hub itself and clusters that are not accepted.
	Selected int `json:"selected"`
	// Registered have their cluster Secret.
	Registered int `json:"registered"`
	// Deployed have the agent.
	Deployed int `json:"deployed"`
	// Connected have an agent that is connected.
	Connected int `json:"connected"`
	// Leaving are not selected any more and still there.
	Leaving int `json:"leaving"`
	// Taken have a cluster Secret of another writer.
	Taken int `json:"taken"`
}

// PrincipalStatus is the principal as it was found.
type PrincipalStatus struct {
	// +optional
	Address string `json:"address,omitempty"`
	// +optional
	Port int32 `json:"port,omitempty"`
	// Source is where the address is from.
	// +optional
	Source string `json:"source,omitempty"`
	// +optional
	Image string `json:"image,omitempty"`
	// +optional
	Version string `json:"version,omitempty"`
}

// ClusterWait is a cluster and what is waited for.
type ClusterWait struct {
	Cluster string `json:"cluster"`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	For   string       `json:"for"`
}

// PlannedWrite is one write that a dry run leaves out.
type PlannedWrite struct {
	// Verb is create, patch, delete or restart; wait where a further write is not known yet.
	Verb string `json:"verb"`
	Kind string `json:"kind"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Why       string `json:"why"`
}
