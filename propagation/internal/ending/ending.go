// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ending decides what is next for a ManifestWork that is to go. There is one way
// for all reasons: the work says how it ends, its agent applies that, then it is deleted.
package ending

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Facts are what the next step rests on. The zero value of each is the careful one.
type Facts struct {
	// ClusterLeaving: the ManagedCluster is gone or terminating, and OCM removes its works
	// whatever we do.
	ClusterLeaving bool
	// Observes: the work only reads, so that its end touches nothing.
	Observes bool
	// Finalized: the work has its agent's finalizer. Without it the agent has applied nothing.
	Finalized bool
	// Leaves: something that the agent would remove has to stay.
	Leaves bool
	// Abandoned: the owner of the Application has given up what its clusters run.
	Abandoned bool
	// Says: the stored work says how it ends.
	Says bool
	// Proven: the cluster has reported that its Application has no finalizer with which Argo
	// CD would prune what has to stay, or nothing has to. One that another field manager has
	// set, too, is not removed by the agent's server-side apply.
	Proven bool
	// Missing: the cluster says that the Application is not there.
	Missing bool
	// Applied is the status of the condition Applied at the work's generation, empty while
	// the agent has not reported on that generation.
	Applied metav1.ConditionStatus
}

// Step is what is next.
type Step int

// Steps.
const (
	Wait   Step = iota // for the agent
	Write              // how the work ends into the work
	Delete             // the work
)

// Next returns what is next for a work that is to go and may go.
func Next(f Facts) Step {
	switch {
	case f.ClusterLeaving, f.Observes, !f.Finalized:
		return Delete
	case f.Abandoned && !f.Leaves:
		return Delete
	case !f.Says:
		return Write
	case f.Applied == metav1.ConditionTrue && f.Proven:
		return Delete
	case f.Applied == metav1.ConditionFalse && (!f.Leaves || f.Missing):
		return Delete // waiting would not have it pruned any better, or there is nothing to stay
	}
	return Wait
}
