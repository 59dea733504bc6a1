// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Reason says why an observation is not simply what the managed cluster reports.
type Reason string

// Reasons. They are condition types of the report as they are, and of the hub
// Application with a suffix that makes Argo CD show them (see [Observation.StatusConditions]).
const (
	// ClusterUnreachable: the ManagedCluster is gone or not available.
	ClusterUnreachable Reason = "ClusterUnreachable"
	// ApplyFailed: the agent could not apply the current change.
	ApplyFailed Reason = "ApplyFailed"
	// ApplicationUnreadable: the agent cannot read the delivered Application any more.
	ApplicationUnreadable Reason = "ApplicationUnreadable"
	// ChangePending: the agent has not applied the current change yet. It passes
	// within milliseconds and has no condition. What the cluster says in the moment after is
	// still about what was before, until its Argo CD has compared ([Facts.Repeats]).
	ChangePending Reason = "ChangePending"
	// ChangeUndelivered: the hub Application has a spec that its ManifestWork does not
	// deliver. Only the hub Application says so, for as long as it is true.
	ChangeUndelivered Reason = "ChangeUndelivered"
)

// Observation is what can be said about one delivered Application.
type Observation struct {
	// Health and Sync are codes of Argo CD, never empty.
	Health, Sync string
	// HealthMessage is Argo CD's, or says what the health was when it is Unknown.
	HealthMessage string
	// Revision is the one last compared; empty for an Application with several sources, of
	// which Revisions has those of the first [contract.MaxSources].
	Revision  string
	Revisions []string
	// Operation is the last one; without a phase there is none. Times are RFC 3339.
	Operation contract.OperationFeedback
	// OperationRevision, or OperationRevisions, is what it synced.
	OperationRevision  string
	OperationRevisions []string
	// ReconciledAt is when the managed cluster's Argo CD last compared, as RFC 3339.
	ReconciledAt string
	// Conditions are the errors and warnings of the managed cluster's Argo CD, and the first
	// resource that keeps the Application from being Synced and Healthy.
	Conditions []contract.Condition

	// Reported is false until the managed cluster has said anything.
	Reported bool
	// Work is the UID of the ManifestWork that it is about; empty when there is none.
	Work types.UID
	// ReportedAt is the youngest time that the managed cluster wrote about the Application,
	// by its own clock; zero before it did.
	ReportedAt time.Time

	// Reason is empty when Health and Sync are what the managed cluster reports.
	Reason Reason
	// Message explains Reason to a person.
	Message string
}

// Compared reports whether Health and Sync are what the managed cluster's Argo CD found
// when it compared.
func (o *Observation) Compared() bool {
	return o.Reported && o.Reason == "" && o.Sync != argocd.SyncUnknown
}

// Undelivered returns the observation of an Application of which a change is not
// delivered: whatever the managed cluster found is about the spec before, so it is
// OutOfSync. Its health is what it is.
func (o Observation) Undelivered() Observation {
	o.Reason, o.Sync = ChangeUndelivered, argocd.SyncOutOfSync
	o.Message = "the spec of the Application is not delivered; health is that of the one before"
	return o
}

// Stale reports whether the cluster does not report, so that the values are its last ones.
func (o *Observation) Stale() bool { return o.Reason == ClusterUnreachable }

// ReportConditions returns the conditions of a report's row.
func (o *Observation) ReportConditions() []contract.Condition {
	return o.conditions("")
}

// StatusConditions returns the conditions of the hub Application. Argo CD shows a
// condition by the end of its type, so an own one is an Error, or a Warning when
// nothing is known to be wrong with the Application itself.
func (o *Observation) StatusConditions() []contract.Condition {
	if o.Reason == ClusterUnreachable || o.Reason == ChangeUndelivered {
		return o.conditions("Warning")
	}
	return o.conditions("Error")
}

func (o *Observation) conditions(suffix string) []contract.Condition {
	if o.Reason == "" || o.Reason == ChangePending {
		return o.Conditions
	}
	own := contract.Condition{Type: string(o.Reason) + suffix, Message: o.Message}
	return append([]contract.Condition{own}, o.Conditions...)
}

// Nothing is the observation of an Application that is not delivered.
func Nothing() Observation {
	return Observation{Health: argocd.HealthUnknown, Sync: argocd.SyncUnknown}
}

// OwnsStatusCondition reports whether a condition type of a hub Application is
// one that [Observation.StatusConditions] writes.
func OwnsStatusCondition(conditionType string) bool {
	return IsOwnCondition(conditionType) || FromFeedback(conditionType)
}

// FromFeedback reports whether feedback alone decides about a type of condition.
func FromFeedback(conditionType string) bool {
	return slices.Contains(contract.ConditionTypes, conditionType) || isResourceCondition(conditionType)
}

// IsOwnCondition reports whether a condition type of a hub Application is one
// that only this package has a word for.
func IsOwnCondition(conditionType string) bool {
	switch conditionType {
	case string(ClusterUnreachable) + "Warning", undeliveredCondition, string(ApplyFailed) + "Error", string(ApplicationUnreadable) + "Error":
		return true
	}
	return isResourceCondition(conditionType)
}

const undeliveredCondition = string(ChangeUndelivered) + "Warning"

// unknown gives up a health that is no longer known, and says what it was.
func (o *Observation) unknown(was string) {
	if o.Health == argocd.HealthUnknown {
		return
	}
	message := was + " " + o.Health
	if o.HealthMessage != "" {
		message += ": " + o.HealthMessage
	}
	o.Health, o.HealthMessage = argocd.HealthUnknown, message
}
