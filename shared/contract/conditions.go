// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// ConditionPrefix begins the types of all conditions that delivery writes.
const ConditionPrefix = "PullDelivery"

// Conditions by which propagation says on a hub Application how its delivery is. The page
// of the fleet sorts Applications by them.
const (
	// DeliveryErrorCondition: the Application is not delivered.
	DeliveryErrorCondition = ConditionPrefix + "Error"
	// DeliveryWarningCondition: it is delivered with a catch, or something of it waits.
	DeliveryWarningCondition = ConditionPrefix + "Warning"

	// WithdrawalHeld begins what a message says of a withdrawal that an operator has to
	// approve; it may follow what else there is to say.
	WithdrawalHeld = "withdrawal held"
	// DeliveryPaused begins the message of a delivery that an operator has paused.
	DeliveryPaused = "paused"
)
