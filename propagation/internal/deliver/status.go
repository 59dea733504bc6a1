// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
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
func (r *Reconciler) updateConditions(ctx context.Context, app *argocd.Application, v policy.Decision) error {
	v = r.withHeld(app, v)
	state, reason := stateOf(v)
	r.tracker.count(client.ObjectKeyFromObject(app), state, reason)
	current, err := appstatus.Conditions(app.Status)
	if err != nil {
		return fmt.Errorf("read status of Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	mine := isOurCondition
	if v.Withdrawn {
		mine = func(t string) bool { return isOurCondition(t) || t == request.ClaimCondition } // whoever gets it next starts anew
	}
	merged, changed := appstatus.Merge(current, mine, conditionsOf(v), r.now())
	if !changed {
		return nil
	}
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, conditionsField(merged))
	if err != nil || patch == nil {
		return err
	}
	if err := r.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch conditions of Application %s/%s: %w", app.Namespace, app.Name, err))
	}
	for _, f := range append([]policy.Message{v.Refusal}, v.Warnings...) {
		if f.Text != "" {
			r.recordWarning(app, f)
			ctrl.LoggerFrom(ctx).V(1).Info("said on the Application", "reason", f.Reason)
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

func isClaimCondition(conditionType string) bool { return conditionType == request.ClaimCondition }

// claim gives the Application's request an identity.
func (r *Reconciler) claim(ctx context.Context, app *argocd.Application, current []appstatus.Condition, id string) error {
	merged, _ := appstatus.Merge(current, isClaimCondition, []appstatus.Condition{{
		Type: request.ClaimCondition, Message: request.ClaimMessage(id, app.Annotations[contract.ClusterAnnotation]),
	}}, r.now())
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, conditionsField(merged))
	if err != nil || patch == nil {
		return err
	}
	if err := r.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("claim %s of Application %s/%s: %w", id, app.Namespace, app.Name, err))
	}
	return nil
}

// finish removes the kinds of request that are done together with their claim: one
// write, so that there is no moment in which they could be taken for new.
func (r *Reconciler) finish(ctx context.Context, app *argocd.Application, current []appstatus.Condition, id string, kinds []string) error {
	merged, _ := appstatus.Merge(current, isClaimCondition, nil, r.now())
	metadata := map[string]any{"resourceVersion": app.ResourceVersion}
	patch := map[string]any{"metadata": metadata, "status": conditionsField(merged)}
	for _, kind := range kinds {
		switch kind {
		case request.KindOperation:
			patch["operation"] = nil
		case request.KindRefresh:
			metadata["annotations"] = map[string]any{argocd.RefreshAnnotation: nil}
		}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode Application patch: %w", err)
	}
	if err := r.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, raw)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("finish %s of Application %s/%s: %w", id, app.Namespace, app.Name, err))
	}
	ctrl.LoggerFrom(ctx).Info("request ended", "request", id, "done", kinds)
	return nil
}
