// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// OnWithdraw is what is to become of what is delivered when it is withdrawn.
type OnWithdraw struct {
	// Word is [payload.WithdrawPrune], [payload.WithdrawOrphan], or empty when nobody says.
	Word string
	// AsBefore: who said it is gone, so that what the work says counts.
	AsBefore bool
	// Problem says what is wrong with a value that cannot be followed; nothing is withdrawn then.
	Problem string
}

// ParseOnWithdraw reads the value of an annotation of the object that on names.
func ParseOnWithdraw(value, on string) OnWithdraw {
	switch value {
	case "", payload.WithdrawPrune, payload.WithdrawOrphan:
		return OnWithdraw{Word: value}
	}
	return OnWithdraw{Problem: fmt.Sprintf("annotation %s of %s is %.100q: want %s or %s, or remove it",
		contract.OnWithdrawAnnotation, on, value, payload.WithdrawOrphan, payload.WithdrawPrune)}
}

// Says reports whether it says anything.
func (w OnWithdraw) Says() bool { return w != OnWithdraw{} }
