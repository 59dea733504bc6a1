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

// Plan is what is to be done about one Application. What is delayed is in it, too.
type Plan struct {
	Key types.NamespacedName
	// Write creates or updates the ManifestWork on the target, nil for neither.
	Write *Write
	// Fates has one for each work of the facts, in their order.
	Fates []Fate
	// Request is the next step of the Application's one-time request when that is a write of
	// the Application: claim, finish or drop. The event of that write leads to the next step.
	Request *request.Plan
	// RefreshDone is the refresh that is done while the hub's status has not said so yet.
	RefreshDone string
	Release     Release
	// Report is what the Application's conditions say, without what the budget holds. It is
	// nil when the conditions stay as they are.
	Report *policy.Decision
	// Waits is how many changes a pause holds.
	Waits int
	// GoneSince is since when the Application is gone, for the ledger; zero while it is there.
	GoneSince time.Time
	// Group is the Application's owner. Deliveries is 0 or 1: one for an Application, however
	// many works name it.
	Group      Group
	Deliveries int
	// After is when to decide again, 0 for not by the clock.
	After time.Duration
	// left is the report of a deleted Application whose works are not gone.
	left *policy.Decision
}

// Write is the wanted ManifestWork.
type Write struct {
	// Current is the work that is updated, nil for a new one.
	Current *Work
	Inputs  payload.Inputs
	Want    *workv1.ManifestWork
	// Request is the one in Want. Replaced: the request that the stored work carries stays.
	Request request.Plan
}

// Fate is what becomes of one ManifestWork.
type Fate struct {
	UID types.UID
	Act Act
	// Own: it is proven to be the Application's, so that [Plan.Group] is its owner.
	Own bool
	// Why it ends, or would end once its grace is over; "" for neither.
	Why Why
	How payload.Ending
	// Lane is whose limit counts it, the zero Lane for none.
	Lane Lane
	// Override is the word of those who may decide about it.
	Override Override
	// Due: it ends now. Otherwise its grace goes on, and it is counted as upcoming.
	Due bool
	// Delayed is who delays it; the zero Delay is nobody.
	Delayed Delay
	Next    Step
	Wait    Wait
	// Clocks is since when something is missing, for the ledger.
	Clocks map[Why]time.Time
	// Project and Automation: both are brought up to date beside what else is done with it.
	Project    bool
	Automation Automation
}

// Act is what is done with a ManifestWork.
type Act int

// Acts.
const (
	Keep    Act = iota // as it is
	Leave              // it is terminating
	Refresh            // as it is, but for its AppProject or the automation
	Rewrite            // it is made the wanted one
	End                // it goes
)

// Automation is what becomes of the delivered Application's syncPolicy.automated.
type Automation int

// What becomes of the automation.
const (
	AutomationStays Automation = iota
	AutomationOut              // a pause takes it out
	AutomationBack             // the pause is over
)

// Delay is who delays something.
type Delay struct {
	// By names the annotation or claim and its object, "" for nobody.
	By string
	// Pause is the pause that it is, the zero one for none.
	Pause policy.Pause
	// Problem says what is wrong with a deletion policy that cannot be followed.
	Problem string
}

// Wait is what an end waits for that nobody delays.
type Wait struct {
	// For is a label of metrics, "" for nothing.
	For string
	// Text says more.
	Text string
}

// What an end waits for.
const (
	WaitsForAgent      = "agent"      // to apply how the work ends
	WaitsForRefusal    = "refusal"    // the agent cannot apply that
	WaitsForFinalizer  = "finalizer"  // of another field manager on the cluster
	WaitsForAutomation = "automation" // of another field manager on the cluster
	WaitsForSpec       = "spec"       // it cannot be decoded
)

// Waits are all that an end may wait for.
var Waits = []string{WaitsForAgent, WaitsForRefusal, WaitsForFinalizer, WaitsForAutomation, WaitsForSpec}

// Release says when Argo CD's finalizers leave a deleted Application.
type Release int

// Releases.
const (
	NoRelease  Release = iota
	AfterProof         // the API server, too, has no own work of it
	Undone             // an operator has taken the deletion back
	Abandoned          // its owner does not wait for the clusters
)

// Verdict is what the budget says about a plan.
type Verdict struct {
	// Allowed are the works whose end may go on.
	Allowed map[types.UID]bool
	// Held says what holds the others, "" for nothing.
	Held string
}

// May reports whether a fate is an end that may be carried out.
func (v Verdict) May(f Fate) bool {
	return f.Act == End && f.Due && f.Delayed.By == "" && (f.Lane.Kind == Uncounted || v.Allowed[f.UID])
}

// again has the plan made again after a time, 0 for not.
func (p *Plan) again(after time.Duration) { p.After = Sooner(p.After, after) }

// Sooner returns the shorter of two waits, of which 0 is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
