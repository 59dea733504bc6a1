// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
)

// Plan lists what propagation has to do for one Application, including delayed changes.
type Plan struct {
	Key types.NamespacedName
	// Write creates or updates the ManifestWork on the target. It is nil if neither is due.
	Write *Write
	// Fates has one entry for each work of the facts, in the same order.
	Fates []Fate
	// Missing are works that exist and that the facts lack. Their earlier fates count on.
	Missing []types.UID
	// Request is the next step of the Application's one-time request, if that step writes the
	// Application: claim, finish or drop. The event of the write leads to the step after it.
	Request *request.Plan
	// RefreshDone is the refresh that is done, but not in the hub's status yet.
	RefreshDone string
	Release     Release
	// Report has the conditions of the Application, without the removals that the budget holds. It
	// is nil if the conditions stay as they are.
	Report *policy.Decision
	// Waits is the number of changes that a pause delays.
	Waits int
	// GoneSince is when the Application was first planned as deleted. It is zero while it exists.
	GoneSince time.Time
	// Group is the owner of the Application. Deliveries is 0 or 1, however many works name the
	// Application.
	Group      Group
	Deliveries int
	// After is the delay until the next decision without an event, or 0.
	After time.Duration
	// left is the report of a deleted Application with works that still exist.
	left *policy.Decision
}

// Write is the desired ManifestWork.
type Write struct {
	// Current is the work that is updated, or nil for a new one.
	Current *Work
	Inputs  payload.Inputs
	Desired *workv1.ManifestWork
	// Request is the request in Desired. If Replaced is true, the stored work keeps its own request.
	Request request.Plan
}

// Fate is the decision about one ManifestWork.
type Fate struct {
	UID types.UID
	Act Act
	// Own is true if the work is proven to be the Application's. Its owner is [Plan.Group] then.
	Own bool
	// Group is the group that the work names. The agent of its cluster can change it.
	Group Group
	// Why is the reason of the removal, present or after a grace period. It is "" for neither.
	Why Why
	How payload.Ending
	// Lane is where the removal counts, or the zero Lane.
	Lane Lane
	// Override is the override that applies to the removal.
	Override Override
	// Due is true if the removal starts now. Otherwise it counts, and its grace period is running.
	Due bool
	// Delayed is the cause that delays the removal, or the zero Delay.
	Delayed Delay
	Next    Step
	Wait    Wait
	// Clocks has when each lost permission was first missing, for the ledger.
	Clocks map[Why]time.Time
	// Project and Automation are updated in addition to Act.
	Project    bool
	Automation Automation
}

// Act is the change that propagation makes to a ManifestWork.
type Act int

// These are the acts.
const (
	Keep    Act = iota // it stays unchanged
	Leave              // it is being deleted
	Refresh            // only its AppProject or the automation changes
	Rewrite            // it becomes the desired work
	End                // it is removed
)

// Automation is the change of the delivered Application's syncPolicy.automated.
type Automation int

// These are the changes of the automation.
const (
	AutomationStays Automation = iota
	AutomationOut              // a pause removes it
	AutomationBack             // the end of the pause restores it
)

// Delay is the cause that delays a change.
type Delay struct {
	// By names the annotation or claim and its object, or is "".
	By string
	// Pause is the pause that delays, or the zero Pause.
	Pause policy.Pause
	// Problem describes an invalid value in a deletion policy.
	Problem string
}

// Wait is the event that a removal waits for, if nothing delays it.
type Wait struct {
	// For is a value of a metric label, or "".
	For string
	// Text has the details.
	Text string
}

// These are the values of [Wait.For].
const (
	WaitsForAgent      = "agent"      // has to apply the ending
	WaitsForRefusal    = "refusal"    // the agent cannot apply the ending
	WaitsForFinalizer  = "finalizer"  // another field manager has set one on the cluster
	WaitsForAutomation = "automation" // another field manager has set it on the cluster
	WaitsForSpec       = "spec"       // the ManifestWork cannot be decoded
)

// Waits lists all values of [Wait.For].
var Waits = []string{WaitsForAgent, WaitsForRefusal, WaitsForFinalizer, WaitsForAutomation, WaitsForSpec}

// Release is when the finalizers of Argo CD are removed from a deleted Application.
type Release int

// These are the times of a release.
const (
	NoRelease  Release = iota
	AfterProof         // when the API server has no own work of it either
	Undone             // an operator has set undo
	Abandoned          // without waiting for the clusters
)

// Verdict is the budget's answer to a plan.
type Verdict struct {
	// Allowed lists the works whose removal may proceed.
	Allowed map[types.UID]bool
	// Held describes the cause that holds the other removals, or is "".
	Held string
}

// May reports whether a fate is a removal that may be carried out.
func (v Verdict) May(f Fate) bool {
	return f.Act == End && f.Due && f.Delayed.By == "" && (f.Lane.Kind == Uncounted || v.Allowed[f.UID])
}

// again requests another decision after a delay. A delay of 0 requests none.
func (p *Plan) again(after time.Duration) { p.After = Sooner(p.After, after) }

// Sooner returns the shorter of two delays. 0 means no delay is set.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
