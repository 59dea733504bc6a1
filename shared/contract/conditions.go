// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// ConditionPrefix is the prefix of the condition types that delivery writes.
const ConditionPrefix = "PullDelivery"

// These conditions report the delivery of a hub Application. The page of the fleet sorts
// Applications by them.
const (
	// DeliveryErrorCondition reports that the Application is not delivered.
	DeliveryErrorCondition = ConditionPrefix + "Error"
	// DeliveryWarningCondition reports a delivery with a problem, or a change that waits.
	DeliveryWarningCondition = ConditionPrefix + "Warning"

	// WithdrawalHeld begins the part of a message about a removal that an operator has to approve.
	// Other text may come before it.
	WithdrawalHeld = "withdrawal held"
	// DeliveryPaused begins the message about a delivery that an operator has paused.
	DeliveryPaused = "paused"
)
