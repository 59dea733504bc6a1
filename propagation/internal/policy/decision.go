// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These condition types on a hub Application report a decision.
const (
	ErrorCondition   = contract.DeliveryErrorCondition
	WarningCondition = contract.DeliveryWarningCondition
)

// These are the reasons of messages in Events and metrics.
const (
	ReasonDelivered      = "Delivered"
	ReasonInvalidLabel   = "InvalidLabel"
	ReasonTurnedOff      = "TurnedOff"
	ReasonNoLabel        = "LabelMissing"
	ReasonNoCluster      = "ClusterAnnotationMissing"
	ReasonInvalidTarget  = "InvalidAnnotation"
	ReasonInvalidSpec    = "InvalidSpec"
	ReasonUnknownCluster = "ClusterUnknown"
	ReasonClusterLeaving = "ClusterLeaving"
	ReasonLocalCluster   = "LocalCluster"
	ReasonNotBound       = "NotBound"
	ReasonTooLarge       = "TooLarge"
	ReasonRefused        = "Refused"
	ReasonNameTaken      = "NameTaken"
	ReasonTaken          = "IdentityTaken"
	ReasonWaitingForOld  = "WaitingForWithdrawal"
	ReasonDeleting       = "Deleting"
	ReasonWithdrawalHeld = "WithdrawalHeld"
	ReasonEndedWithSet   = "EndedWithApplicationSet"
	ReasonPaused         = "Paused"
	ReasonSkipReconcile  = "SkipReconcileMissing"
	ReasonRequestWaiting = "RequestWaiting"
	ReasonWindow         = "WindowNotDelivered"
	ReasonSignatures     = "SignaturesRequired"
	ReasonNotHydrated    = "SourceNotHydrated"
	ReasonObserved       = "Observed"
	ReasonNotThere       = "NotThere"
	ReasonAlreadyThere   = "AlreadyThere"
	ReasonOrphanPending  = "OrphanPending"
	ReasonNotPruned      = "NotPruned"
	ReasonAlsoByAgent    = "AlsoByAgent"

	ReasonNamespaceDenied = "AppNamespaceNotAllowed"
	ReasonProjectDenied   = "ProjectNotAllowed"
)

// Message is a message on an Application: why it is not delivered, or a problem with its delivery.
// The text ends with the remedy.
type Message struct {
	Reason, Text string
}

// Severity is the severity of a refusal.
type Severity int

// These are the severities.
const (
	SeverityError   Severity = iota
	SeverityWarning          // the user asks for it or has an invalid setting
)

// Decision is the reported decision about an Application.
type Decision struct {
	// Deliver is true if the Application is delivered as desired. Otherwise existing works stay,
	// unless they are removed for another reason.
	Deliver bool
	// Refusal is why the Application is not delivered. It is empty if no label asks for delivery.
	Refusal Message
	// Severity is the severity of the refusal.
	Severity Severity
	// Withdrawn is true if no work of the Application exists on the hub.
	Withdrawn bool
	// Warnings are problems that do not prevent the delivery.
	Warnings []Message
}

// Reason returns the reason of the refusal or of the first warning, else [ReasonDelivered]. It
// returns "" if the Application does not ask for delivery.
func (d Decision) Reason() string {
	switch {
	case !d.Deliver:
		return d.Refusal.Reason
	case len(d.Warnings) > 0:
		return d.Warnings[0].Reason
	}
	return ReasonDelivered
}

// Refuse returns the decision that refuses the desired delivery of an Application.
func Refuse(reason, format string, args ...any) *Decision {
	return &Decision{Refusal: Message{reason, fmt.Sprintf(format, args...)}}
}

// RefuseAsWarning returns the same with the severity of a warning.
func RefuseAsWarning(reason, format string, args ...any) *Decision {
	d := Refuse(reason, format, args...)
	d.Severity = SeverityWarning
	return d
}

// IsClusterName reports whether a ManagedCluster, and its namespace, can have that name. A cluster
// with another name cannot exist.
func IsClusterName(name string) bool {
	return name != "" && len(validation.IsDNS1123Subdomain(name)) == 0 && len(name) <= validation.DNS1123LabelMaxLength
}
