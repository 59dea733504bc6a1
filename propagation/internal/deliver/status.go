// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

func isOurCondition(conditionType string) bool {
	return conditionType == policy.ErrorCondition || conditionType == policy.WarningCondition
}

// conditionsOf returns what a decision says in status.conditions.
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

// updateConditions writes a decision to the Application's conditions and, when it is news, into
// an Event. Conditions of others stay.
func (rep *reporter) updateConditions(ctx context.Context, app *argocd.Application, v policy.Decision) error {
	v = rep.withHeld(app, v)
	state, reason := stateOf(v)
	rep.tracker.count(client.ObjectKeyFromObject(app), state, reason)
	current, err := appstatus.Conditions(app.Status)
	if err != nil {
		return fmt.Errorf("read status of Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	mine := isOurCondition
	if v.Withdrawn {
		mine = func(t string) bool { return isOurCondition(t) || t == request.ClaimCondition } // whoever gets it next starts anew
	}
	merged, changed := appstatus.Merge(current, mine, conditionsOf(v), rep.now())
	if !changed {
		return nil
	}
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, conditionsField(merged))
	if err != nil || patch == nil {
		return err
	}
	if err := rep.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch conditions of Application %s/%s: %w", app.Namespace, app.Name, err))
	}
	for _, f := range append([]policy.Message{v.Refusal}, v.Warnings...) {
		if f.Text != "" {
			rep.recordWarning(app, f)
			ctrl.LoggerFrom(ctx).V(1).Info("updated the conditions of the Application", "reason", f.Reason)
		}
	}
	return nil
}

// stateOf is a decision as the metrics count it.
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

func conditionsField(conditions []appstatus.Condition) appstatus.Fields {
	if len(conditions) == 0 {
		return appstatus.Fields{"conditions": nil}
	}
	return appstatus.Fields{"conditions": conditions}
}
