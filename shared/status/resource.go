// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These condition types name the first resource that prevents an Application from being Synced and
// Healthy. The end of a condition's type decides how Argo CD shows it.
const (
	SyncFailedResource = "SyncFailedResourceError"
	DegradedResource   = "DegradedResourceWarning"
	OutOfSyncResource  = "OutOfSyncResourceWarning"
)

func isResourceCondition(conditionType string) bool {
	return slices.Contains([]string{SyncFailedResource, DegradedResource, OutOfSyncResource}, conditionType)
}

// resourceCondition names the first resource with the most severe problem that remains: kind, name
// and message.
func resourceCondition(resources []contract.Resource, o *Observation) (c contract.Condition, found bool) {
	for _, r := range resources {
		switch {
		case (r.Problem == contract.ResourceSyncFailed || r.Problem == contract.ResourceHookFailed) && failed(o):
			c.Type = SyncFailedResource
		case r.Problem == contract.ResourceDegraded && o.Health == argocd.HealthDegraded:
			c.Type = DegradedResource
		// a resource that is being synced is about to change
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

// failed reports whether the last operation failed and the Application shows that.
func failed(o *Observation) bool {
	return argocd.HasFailed(o.Operation.Phase) && (o.Health != argocd.HealthHealthy || o.Sync != argocd.SyncSynced)
}
