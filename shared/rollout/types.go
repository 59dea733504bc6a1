// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// GroupVersion of ApplicationSetRollout.
var GroupVersion = schema.GroupVersion{Group: "apps.open-cluster-management.io", Version: "v1alpha1"}

// WordAnnotation on an ApplicationSetRollout is what an operator says about its
// candidate: "approve <number>" or "abort <number>".
const WordAnnotation = contract.KeyPrefix + "rollout"

// ApplicationSetRollout lets a change of an ApplicationSet reach its clusters group by group,
// by what they report, and stops or takes it back where too many fail.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=applicationsetrollouts,shortName=asr
// +kubebuilder:printcolumn:name="ApplicationSet",type=string,JSONPath=`.spec.applicationSet`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.status.group`
// +kubebuilder:printcolumn:name="Promoted",type=string,JSONPath=`.status.promoted.revisions`
// +kubebuilder:printcolumn:name="Candidate",type=string,JSONPath=`.status.candidate.revisions`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type ApplicationSetRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// ApplicationSetRolloutList is a list of ApplicationSetRollouts.
//
// +kubebuilder:object:root=true
type ApplicationSetRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ApplicationSetRollout `json:"items"`
}

// Spec of an ApplicationSetRollout.
type Spec struct {
	// ApplicationSet is the name of the ApplicationSet, in the namespace of the rollout.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="make another ApplicationSetRollout for another ApplicationSet"
	ApplicationSet string `json:"applicationSet"`
	// Placement is the name of the Placement, in the same namespace, whose decision groups are
	// the groups of the rollout. Clusters of the ApplicationSet that it does not select come
	// last. Without it all clusters are one group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Placement string `json:"placement,omitempty"`
	// Strategy is OCM's own.
	// +optional
	Strategy clusterv1alpha1.RolloutStrategy `json:"strategy,omitempty"`
	// OnFailure says what becomes of clusters that have started when more fail than
	// maxFailures allows: Halt leaves them, Rollback gives them the promoted content and
	// revision again.
	// +optional
	// +kubebuilder:default:=Halt
	// +kubebuilder:validation:Enum=Halt;Rollback
	OnFailure OnFailure `json:"onFailure,omitempty"`
}

// OnFailure is what to do about a failed rollout.
type OnFailure string

// Values of [OnFailure].
const (
	Halt     OnFailure = "Halt"
	Rollback OnFailure = "Rollback"
)

// Phase of a rollout.
type Phase string

// Phases. Without one the rollout was never accepted and holds nothing.
const (
	Idle        Phase = "Idle"        // every cluster has what is promoted
	Progressing Phase = "Progressing" // clusters get the candidate
	Halted      Phase = "Halted"      // no further cluster gets it
	RollingBack Phase = "RollingBack" // those that started get what is promoted again
	RolledBack  Phase = "RolledBack"  // they have it
)

// Status is the whole state of a rollout: nothing that a restart could lose is elsewhere.
type Status struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Message says who waits for what.
	// +optional
	Message string `json:"message,omitempty"`
	// Group is the decision group at work.
	// +optional
	Group string `json:"group,omitempty"`
	// Promoted is what every cluster may have.
	// +optional
	Promoted *Version `json:"promoted,omitempty"`
	// Candidate is what is rolled out at the moment.
	// +optional
	Candidate *Version `json:"candidate,omitempty"`
	// Following are the clusters of the first group, which follow the branch; sorted.
	// +optional
	// +listType=set
	Following []string `json:"following,omitempty"`
	// Counts of clusters.
	// +optional
	Counts Counts `json:"counts,omitempty"`
	// Clusters are those that do not simply have what is promoted; sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Clusters []Cluster `json:"clusters,omitempty"`
	// Conditions: Ready, whether the rollout can work; Progressing, whether it does.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Counts of clusters by state.
type Counts struct {
	Total     int `json:"total"`
	Started   int `json:"started"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
}

// Version is a content with the revisions that its sources had.
type Version struct {
	// Number counts candidates; approve and abort name it.
	Number int64 `json:"number"`
	// Revisions has one for each source, in order. It is empty until a cluster has reported.
	// +optional
	// +listType=atomic
	Revisions []string `json:"revisions,omitempty"`
	// Content is true when not only the revision differs from what was promoted.
	// +optional
	Content bool `json:"content,omitempty"`
	// Time is when it became what it is.
	Time metav1.Time `json:"time"`
}

// State of a cluster in a rollout.
type State string

// States.
const (
	// StateJoining: a new cluster gets what is promoted.
	StateJoining State = "Joining"
	// StatePending: it is its turn, and it is away. It is not given the candidate.
	StatePending State = "Pending"
	// StateUnavailable is StatePending beyond the deadline, which counts as failed.
	StateUnavailable State = "Unavailable"
	// StateProgressing and those after it have been given the candidate.
	StateProgressing State = "Progressing"
	StateSucceeded   State = "Succeeded"
	StateFailed      State = "Failed"
	StateTimedOut    State = "TimedOut"
	// StateSuperseded was given an earlier candidate, which was not promoted.
	StateSuperseded State = "Superseded"
	// StateRestored has what is promoted again.
	StateRestored State = "Restored"
)

// Cluster is the state of one cluster.
type Cluster struct {
	Name  string      `json:"name"`
	State State       `json:"state"`
	Since metav1.Time `json:"since"`
	// Contents are the hashes of what its Applications are given; From those of what they had.
	// +optional
	// +listType=atomic
	Contents []string `json:"contents,omitempty"`
	// +optional
	// +listType=atomic
	From []string `json:"from,omitempty"`
	// Revisions are those that a cluster that follows the branch last reported.
	// +optional
	// +listType=atomic
	Revisions []string `json:"revisions,omitempty"`
	// Compared is when the cluster had last compared, by its own clock, as it was seen to have
	// applied what it is given.
	// +optional
	Compared string `json:"compared,omitempty"`
	// Operation is when the operation began that the cluster last reported before.
	// +optional
	Operation string `json:"operation,omitempty"`
	// Message says why it failed.
	// +optional
	Message string `json:"message,omitempty"`
}

// AddToScheme registers the kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ApplicationSetRollout{}, &ApplicationSetRolloutList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
