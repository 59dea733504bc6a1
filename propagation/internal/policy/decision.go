// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Condition types on a hub Application that say what was decided.
const (
	ErrorCondition   = contract.DeliveryErrorCondition
	WarningCondition = contract.DeliveryWarningCondition
)

// Reasons of messages, as in Events and metrics.
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
	ReasonAlsoByAgent    = "AlsoByAgent"

	ReasonNamespaceDenied = "AppNamespaceNotAllowed"
	ReasonProjectDenied   = "ProjectNotAllowed"
)

// Message is one thing to say on an Application: why it is not delivered, or what
// is wrong although it is. The text ends with the remedy.
type Message struct {
	Reason, Text string
}

// Severity is how bad a refusal is.
type Severity int

// Severities.
const (
	SeverityError   Severity = iota
	SeverityWarning          // the refusal is the user's own wish or slip
)

// Decision is what is to be done with an Application.
type Decision struct {
	// Deliver: it is delivered as it asks. Otherwise what was delivered before stays, unless it ends
	// for a reason of its own.
	Deliver bool
	// Refusal says why it is not delivered; empty when no label asks for delivery.
	Refusal Message
	// Severity is that of the refusal.
	Severity Severity
	// Withdrawn: nothing of it is left on the hub.
	Withdrawn bool
	// Warnings go with a delivery.
	Warnings []Message
}

// Reason returns why an Application is not delivered, else what its first warning is
// about, else [ReasonDelivered]; "" for one that asks for nothing.
func (d Decision) Reason() string {
	switch {
	case !d.Deliver:
		return d.Refusal.Reason
	case len(d.Warnings) > 0:
		return d.Warnings[0].Reason
	}
	return ReasonDelivered
}

// Refuse returns the decision on an Application whose desired delivery is refused.
func Refuse(reason, format string, args ...any) *Decision {
	return &Decision{Refusal: Message{reason, fmt.Sprintf(format, args...)}}
}

// RefuseAsWarning returns the same as a warning.
func RefuseAsWarning(reason, format string, args ...any) *Decision {
	d := Refuse(reason, format, args...)
	d.Severity = SeverityWarning
	return d
}

// IsClusterName reports whether a ManagedCluster, and with it a namespace, can be
// called that. There is positively no cluster of another name.
func IsClusterName(name string) bool {
	return name != "" && len(validation.IsDNS1123Subdomain(name)) == 0 && len(name) <= validation.DNS1123LabelMaxLength
}
