// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// App has the fields of one hub Application that the page shows. It never changes.
type App struct {
	AppFields
	// Conditions are the errors and warnings of the Application.
	Conditions []v1alpha1.Condition
}

// AppFields are the comparable fields of an [App]. If they are equal, the page shows the same.
type AppFields struct {
	Namespace, Name string
	// Set is the ApplicationSet that controls it, in its namespace, or "".
	Set string
	// Cluster is the cluster that it names, or "".
	Cluster string
	// Work is the name of its ManifestWork. A pulled Application from before a restore or a move of the
	// hub has a ManifestWork with another name.
	Work string

	// Health is one of [Healths]. Sync is one of [Syncs].
	Health, Sync string
	Revision     string
	// Phase is the phase of the last operation. Started is its start, as RFC 3339.
	Phase, Started string
	// Stale is true if its cluster does not report, so that the values are the last ones.
	Stale bool

	// State is the state of its delivery. It is empty without anything to report.
	State State
	// Message is the reason of State. Since is the time of its beginning, or zero if it is not
	// recorded.
	Message string
	Since   time.Time
}

// State is the state of the delivery of an Application.
type State string

// These are the states, the worst first.
const (
	// Refused means that propagation does not deliver it. The message has the remedy.
	Refused State = "Refused"
	// Held means that its removal from the cluster waits for an approval.
	Held State = "Held"
	// Paused means that a person has paused its delivery.
	Paused State = "Paused"
	// Waiting means that its status has been empty since it was created.
	Waiting State = "Waiting"
	// Deleting means that it is being deleted and the managed cluster has not confirmed that.
	Deleting State = "Deleting"
	// Warned means that it is delivered with a problem.
	Warned State = "Warning"
	// Rendered means that the hub's Argo CD renders it.
	Rendered State = "Rendered"
)

// States are all states, the worst first.
var States = []State{Refused, Held, Paused, Waiting, Deleting, Warned, Rendered}

// Key returns namespace and name of the Application.
func (f *AppFields) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: f.Namespace, Name: f.Name}
}

// owner returns the key of the ApplicationSet that controls it. Its name may be empty.
func (f *AppFields) owner() types.NamespacedName {
	return types.NamespacedName{Namespace: f.Namespace, Name: f.Set}
}

// Equal reports whether the page shows the same for two Applications.
func (a *App) Equal(b *App) bool {
	return a.AppFields == b.AppFields && slices.Equal(a.Conditions, b.Conditions)
}

// compareApps compares the Applications of one ApplicationSet by cluster, then by name.
func compareApps(a, b *App) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
}

// CompareDelivery compares Applications by state, the worst first, then by name.
func CompareDelivery(a, b *App) int {
	return cmp.Or(
		cmp.Compare(slices.Index(States, a.State), slices.Index(States, b.State)),
		cmp.Compare(wellness(a), wellness(b)),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func wellness(a *App) int {
	if a.State == Rendered && a.Health == argocd.HealthHealthy && a.Sync == argocd.SyncSynced {
		return 1
	}
	return 0
}
