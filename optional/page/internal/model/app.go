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

// App is one Application of the hub as far as the page shows it. It never changes.
type App struct {
	Facts
	// Conditions are the Application's own, errors and warnings.
	Conditions []v1alpha1.Condition
}

// Facts of an [App]; two that are equal show the same.
type Facts struct {
	Namespace, Name string
	// Set is the ApplicationSet that controls it, in its namespace; empty: none does.
	Set string
	// Cluster is the one that it asks for; empty: it names none.
	Cluster string
	// Work is the name of its ManifestWork.
	Work string

	// Health is one of [Healths], Sync one of [Syncs].
	Health, Sync string
	Revision     string
	// Phase is of the last operation, Started when that began, as RFC 3339.
	Phase, Started string
	// Stale: its cluster does not report, so the values are the last ones.
	Stale bool

	// State says in one word how its delivery is; empty: as it should be.
	State State
	// Message is why, Since is when it came to be so; zero: not recorded.
	Message string
	Since   time.Time
}

// State says in one word how the delivery of an Application is.
type State string

// States, the worst first.
const (
	// Refused: propagation does not deliver it; the message has the remedy.
	Refused State = "Refused"
	// Held: its deletion from the cluster waits for an approval.
	Held State = "Held"
	// Paused: a person has paused its delivery.
	Paused State = "Paused"
	// Waiting: its status is empty since it was created.
	Waiting State = "Waiting"
	// Deleting: it is being deleted, and the managed cluster has not confirmed it.
	Deleting State = "Deleting"
	// Warned: it is delivered, with a catch.
	Warned State = "Warning"
	// Rendered: the hub's Argo CD renders it.
	Rendered State = "Rendered"
)

// States are all of them, the worst first.
var States = []State{Refused, Held, Paused, Waiting, Deleting, Warned, Rendered}

// Key is the Application's own.
func (f *Facts) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: f.Namespace, Name: f.Name}
}

// owner is the key of the ApplicationSet that controls it; its name may be empty.
func (f *Facts) owner() types.NamespacedName {
	return types.NamespacedName{Namespace: f.Namespace, Name: f.Set}
}

// Equal reports whether two Applications show the same.
func (a *App) Equal(b *App) bool {
	return a.Facts == b.Facts && slices.Equal(a.Conditions, b.Conditions)
}

// compareApps orders the Applications of one ApplicationSet: by cluster, then by name.
func compareApps(a, b *App) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
}

// CompareDelivery orders Applications by state, the worst first, then by name.
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
