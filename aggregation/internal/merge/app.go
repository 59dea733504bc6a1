// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// App is the state of one Application from OCM alone.
type App struct {
	// HubNamespace and HubName are the Application's on the hub.
	HubNamespace, HubName string
	// Cluster and Work are namespace and name of its ManifestWork.
	Cluster, Work string

	// Reported is true if the managed cluster has reported anything about the Application.
	Reported               bool
	Health, Sync, Revision string
	// Revisions are the revisions of several sources.
	Revisions []string
	// OperationStartedAt is RFC 3339, or empty.
	OperationPhase, OperationStartedAt, OperationMessage string
	// Conditions come from the feedback. There is at most one of each type.
	Conditions []v1alpha1.Condition
}

// Search is the result of search about one Application.
type Search struct {
	Conditions []v1alpha1.Condition
	// StaleSince is the time since which search gives no trustworthy answer, as RFC 3339. It is
	// empty while search gives one.
	StaleSince string
}

// Name is the Application's name in a report.
func (a *App) Name() string {
	return a.HubNamespace + "/" + a.HubName + "/" + a.Cluster + "/" + a.Work
}
