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

// Reason is why an observation differs from the report of the managed cluster.
type Reason string

// The reasons are condition types of the report. On the hub Application they have a suffix that
// makes Argo CD show them (see [Observation.StatusConditions]).
const (
	// ClusterUnreachable means that the ManagedCluster does not exist or is unavailable.
	ClusterUnreachable Reason = "ClusterUnreachable"
	// ApplyFailed means that the agent could not apply the present change.
	ApplyFailed Reason = "ApplyFailed"
	// ApplicationUnreadable means that the agent cannot read the delivered Application any more.
	ApplicationUnreadable Reason = "ApplicationUnreadable"
	// ChangePending means that the agent has not applied the present change yet. It usually lasts
	// for milliseconds and has no condition. Reports right after that still describe the earlier
	// state, until Argo CD on the cluster has compared ([WorkStatus.Repeats]). The same applies after
	// the other reasons.
	ChangePending Reason = "ChangePending"
	// ChangeUndelivered means that the ManifestWork does not deliver the hub Application's spec.
	// Only the hub Application shows it.
	ChangeUndelivered Reason = "ChangeUndelivered"
)

// Observation is the state of one delivered Application.
type Observation struct {
	// Health and Sync are codes of Argo CD, never empty.
	Health, Sync string
	// HealthMessage is Argo CD's message. If the health is Unknown, it names the last health.
	HealthMessage string
	// Revision is the last compared revision. It is empty for an Application with several sources.
	// Revisions then has the revisions of the first [contract.MaxSources].
	Revision  string
	Revisions []string
	// Operation is the last operation. Without a phase, no operation exists. Times are RFC 3339.
	Operation contract.OperationFeedback
	// OperationRevision, or OperationRevisions, is the revision that the operation synced.
	OperationRevision  string
	OperationRevisions []string
	// ReconciledAt is when the managed cluster's Argo CD last compared, as RFC 3339.
	ReconciledAt string
	// Conditions are the errors and warnings of the managed cluster's Argo CD, and the first
	// resource that keeps the Application from being Synced and Healthy.
	Conditions []contract.Condition

	// Reported is false until the managed cluster has reported anything.
	Reported bool
	// Work is the UID of the observed ManifestWork, or empty.
	Work types.UID
	// ReportedAt is the latest time in the managed cluster's report, by its own clock, or the zero
	// time.
	ReportedAt time.Time

	// Reason is empty if Health and Sync are the values that the managed cluster reports.
	Reason Reason
	// Message explains Reason to a person.
	Message string
}

// Compared reports whether Health and Sync are the result of a comparison by the managed cluster's
// Argo CD.
func (o *Observation) Compared() bool {
	return o.Reported && o.Reason == "" && o.Sync != argocd.SyncUnknown
}

// Undelivered returns the observation of an Application with a change that is not delivered. It is
// OutOfSync, because the managed cluster has compared with the earlier spec. The health stays.
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

// StatusConditions returns the conditions of the hub Application. The end of a condition's type
// decides how Argo CD shows it. So an own type ends in Error, or in Warning if no problem of the
// Application itself is known.
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

// OwnsStatusCondition reports whether [Observation.StatusConditions] writes a condition type of a
// hub Application.
func OwnsStatusCondition(conditionType string) bool {
	return IsOwnCondition(conditionType) || FromFeedback(conditionType)
}

// FromFeedback reports whether a condition type comes from feedback alone.
func FromFeedback(conditionType string) bool {
	return slices.Contains(contract.ConditionTypes, conditionType) || isResourceCondition(conditionType)
}

// IsOwnCondition reports whether a condition type of a hub Application exists in this package only.
func IsOwnCondition(conditionType string) bool {
	return slices.Contains(reasonConditions, conditionType) || isResourceCondition(conditionType)
}

// reasonConditions are the condition types by which a hub Application shows a [Reason].
var reasonConditions = []string{
	string(ClusterUnreachable) + "Warning", string(ChangeUndelivered) + "Warning",
	string(ApplyFailed) + "Error", string(ApplicationUnreadable) + "Error",
}

// unknown sets the health to Unknown, and names the last health in the message.
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
