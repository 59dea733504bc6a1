// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Condition types that name the first resource which keeps an Application from being Synced
// and Healthy. Argo CD shows a condition by the end of its type.
const (
	SyncFailedResource = "SyncFailedResourceError"
	DegradedResource   = "DegradedResourceWarning"
	OutOfSyncResource  = "OutOfSyncResourceWarning"
)

func isResourceCondition(conditionType string) bool {
	return slices.Contains([]string{SyncFailedResource, DegradedResource, OutOfSyncResource}, conditionType)
}

// resourceCondition names the first resource with the gravest problem that still holds, as
// kind, name and message.
func resourceCondition(resources []contract.Resource, o *Observation) (c contract.Condition, found bool) {
	for _, r := range resources {
		switch {
		case (r.Problem == contract.ResourceSyncFailed || r.Problem == contract.ResourceHookFailed) && failed(o):
			c.Type = SyncFailedResource
		case r.Problem == contract.ResourceDegraded && o.Health == argocd.HealthDegraded:
			c.Type = DegradedResource
		// what is being synced is about to change
		case r.Problem == contract.ResourceOutOfSync && o.Sync == argocd.SyncOutOfSync && o.Operation.Phase != argocd.OperationRunning:
			c.Type = OutOfSyncResource
		default:
			continue
		}
		c.Message = r.Kind + " " + r.Name
		if r.Message != "" {
			c.Message += ": " + r.Message
		}
		c.Message = contract.Message(c.Message, &contract.Rejected{})
		return c, true
	}
	return c, false
}

// failed reports whether the last operation failed, and the Application shows it.
func failed(o *Observation) bool {
	return argocd.HasFailed(o.Operation.Phase) && (o.Health != argocd.HealthHealthy || o.Sync != argocd.SyncSynced)
}
