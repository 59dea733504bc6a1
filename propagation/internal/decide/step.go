// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// stepFacts are what the next step of an end rests on. The zero value of each is the careful one.
type stepFacts struct {
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

// Step is what is next for a ManifestWork that is to go. There is one way for all reasons: the
// work says how it ends, its agent applies that, then it is deleted.
type Step int

// Steps.
const (
	StepWait   Step = iota // for the agent
	StepWrite              // how the work ends into the work
	StepDelete             // the work
)

// nextStep returns what is next for a work that is to go and may go.
func nextStep(f stepFacts) Step {
	switch {
	case f.ClusterLeaving, f.Observes, !f.Finalized:
		return StepDelete
	case f.Abandoned && !f.Leaves:
		return StepDelete
	case !f.Says:
		return StepWrite
	case f.Applied == metav1.ConditionTrue && f.Proven:
		return StepDelete
	case f.Applied == metav1.ConditionFalse && (!f.Leaves || f.Missing):
		return StepDelete // waiting would not have it pruned any better, or there is nothing to stay
	}
	return StepWait
}
