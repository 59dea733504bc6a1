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
	current, err := appstatus.Conditions(app.Status)
	if err != nil {
		return fmt.Errorf("read status of Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	merged, changed := appstatus.Merge(current, owned, conditions(v), r.now())
	if !changed {
		return nil
	}
	fields := appstatus.Fields{"conditions": nil}
	if len(merged) > 0 {
		fields["conditions"] = merged
	}
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, fields)
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
