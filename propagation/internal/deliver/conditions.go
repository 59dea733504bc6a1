// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"strings"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
)

func isOurCondition(conditionType string) bool {
	return conditionType == policy.ErrorCondition || conditionType == policy.WarningCondition
}

func isClaimCondition(conditionType string) bool { return conditionType == request.ClaimCondition }

// conditionsOf returns the conditions that report a decision.
func conditionsOf(v policy.Decision) []appstatus.Condition {
	switch {
	case v.Refusal.Text != "" && v.Severity == policy.SeverityWarning:
		return []appstatus.Condition{{Type: policy.WarningCondition, Message: v.Refusal.Text}}
	case v.Refusal.Text != "":
		return []appstatus.Condition{{Type: policy.ErrorCondition, Message: v.Refusal.Text}}
	case len(v.Warnings) > 0:
		messages := make([]string, len(v.Warnings))
		for i, w := range v.Warnings {
			messages[i] = w.Text
		}
		return []appstatus.Condition{{Type: policy.WarningCondition, Message: strings.Join(messages, "; ")}}
	}
	return nil
}

func conditionsField(conditions []appstatus.Condition) appstatus.Fields {
	if len(conditions) == 0 {
		return appstatus.Fields{"conditions": nil}
	}
	return appstatus.Fields{"conditions": conditions}
}

// stateOf returns the metric labels of a decision.
func stateOf(v policy.Decision) (state, reason string) {
	switch reason = v.Reason(); {
	case reason == "":
		return "", ""
	case reason == policy.ReasonPaused:
		return statePaused, reason
	case !v.Deliver:
		return stateRefused, reason
	case reason == policy.ReasonObserved || reason == policy.ReasonNotThere:
		return stateObserved, reason
	}
	return stateDelivered, reason
}
