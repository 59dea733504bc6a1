// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// stepFacts are the input of [nextStep]. The zero value of each field is the cautious one.
type stepFacts struct {
	// ClusterLeaving is true if the ManagedCluster is deleted or being deleted. OCM then removes
	// its works.
	ClusterLeaving bool
	// Observes is true if the work only reads, so that deleting it changes nothing on the cluster.
	Observes bool
	// Finalized is true if the work has its agent's finalizer. Without it the agent has applied
	// nothing.
	Finalized bool
	// Leaves is true if something has to stay that the agent would remove.
	Leaves bool
	// Abandoned is true if the deleted Application does not wait for its clusters.
	Abandoned bool
	// Says is true if the stored work carries its ending.
	Written bool
	// Proven is true if the cluster has reported that no finalizer makes Argo CD prune what has to
	// stay, or if nothing has to stay. The agent's server-side apply does not remove a finalizer
	// that another field manager has set as well.
	Proven bool
	// Missing is true if the cluster reports that the Application does not exist.
	Missing bool
	// Applied is the status of condition Applied at the work's generation. It is "" while the agent
	// has not reported on that generation.
	Applied metav1.ConditionStatus
}

// Step is the next step to remove a ManifestWork. The order is the same for all reasons:
// propagation writes the ending into the work, the agent applies it, and propagation deletes the
// work.
type Step int

// These are the steps.
const (
	StepWait   Step = iota // wait for the agent
	StepWrite              // write the ending into the work
	StepDelete             // delete the work
)

// nextStep returns the next step for a work that has to be removed, and may be.
func nextStep(f stepFacts) Step {
	switch {
	case f.ClusterLeaving, f.Observes, !f.Finalized:
		return StepDelete
	case f.Abandoned && !f.Leaves:
		return StepDelete
	case !f.Written:
		return StepWrite
	case f.Applied == metav1.ConditionTrue && f.Proven:
		return StepDelete
	case f.Applied == metav1.ConditionFalse && (!f.Leaves || f.Missing):
		return StepDelete // waiting would not improve pruning, or nothing has to stay
	}
	return StepWait
}
