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
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

func owned(conditionType string) bool {
	return conditionType == ErrorCondition || conditionType == WarningCondition
}

// conditions returns what a verdict says in status.conditions.
func conditions(v verdict) []appstatus.Condition {
	switch {
	case v.Refusal.Message != "" && v.Mild:
		return []appstatus.Condition{{Type: WarningCondition, Message: v.Refusal.Message}}
	case v.Refusal.Message != "":
		return []appstatus.Condition{{Type: ErrorCondition, Message: v.Refusal.Message}}
	case len(v.Warnings) > 0:
		messages := make([]string, len(v.Warnings))
		for i, w := range v.Warnings {
			messages[i] = w.Message
		}
		return []appstatus.Condition{{Type: WarningCondition, Message: strings.Join(messages, "; ")}}
	}
	return nil
}

// say puts a verdict into the Application's conditions and, when it is news, into
// an Event. Conditions of others stay.
func (r *Reconciler) say(ctx context.Context, app *argocd.Application, v verdict) error {
	state, reason := standing(v)
	r.book.count(client.ObjectKeyFromObject(app), state, reason)
	current, err := appstatus.Conditions(app.Status)
	if err != nil {
		return fmt.Errorf("read status of Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	mine := owned
	if v.Withdrawn {
		mine = func(t string) bool { return owned(t) || t == ClaimCondition } // whoever gets it next starts anew
	}
	merged, changed := appstatus.Merge(current, mine, conditions(v), r.now())
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
	for _, f := range append([]finding{v.Refusal}, v.Warnings...) {
		if f.Message != "" {
			r.warn(app, f)
			ctrl.LoggerFrom(ctx).V(1).Info("said on the Application", "reason", f.Reason)
		}
	}
	return nil
}

// standing is a verdict as the metrics count it.
func standing(v verdict) (state, reason string) {
	switch {
	case !v.Deliver && v.Refusal.Reason == "":
		return "", ""
	case !v.Deliver:
		return stateRefused, v.Refusal.Reason
	case len(v.Warnings) > 0:
		return stateDelivered, v.Warnings[0].Reason
	}
	return stateDelivered, ReasonDelivered
}

func conditionsField(conditions []appstatus.Condition) appstatus.Fields {
	if len(conditions) == 0 {
		return appstatus.Fields{"conditions": nil}
	}
	return appstatus.Fields{"conditions": conditions}
}

func claimed(conditionType string) bool { return conditionType == ClaimCondition }

// claim gives the Application's request an identity.
func (r *Reconciler) claim(ctx context.Context, app *argocd.Application, current []appstatus.Condition, id string) error {
	merged, _ := appstatus.Merge(current, claimed, []appstatus.Condition{{
		Type: ClaimCondition, Message: claimMessage(id, app.Annotations[wire.ClusterAnnotation]),
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
	merged, _ := appstatus.Merge(current, claimed, nil, r.now())
	metadata := map[string]any{"resourceVersion": app.ResourceVersion}
	patch := map[string]any{"metadata": metadata, "status": conditionsField(merged)}
	for _, kind := range kinds {
		switch kind {
		case kindOperation:
			patch["operation"] = nil
		case kindRefresh:
			metadata["annotations"] = map[string]any{argocd.RefreshAnnotation: nil}
		}
	}
	raw, err := encode("Application patch", patch)
	if err != nil {
		return err
	}
	if err := r.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, raw)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("finish %s of Application %s/%s: %w", id, app.Namespace, app.Name, err))
	}
	ctrl.LoggerFrom(ctx).Info("request ended", "request", id, "done", kinds)
	return nil
}
