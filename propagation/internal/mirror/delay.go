// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// cause is what a status waits for before it is written.
type cause string

const (
	nothing       cause = ""
	initialStatus cause = "initial status" // of the managed cluster, for a new Application
	delivery      cause = "delivery"       // of a change of the Application
	apply         cause = "apply"          // by the work agent, of a change of the ManifestWork
	operation     cause = "operation"      // that the hub asks for, to begin
)

// entry is what is remembered of one Application.
type entry struct {
	// feedback is when feedback was first seen that is not written yet.
	feedback time.Time
	// cause is what is waited for, since then, at that generation of that work.
	cause      cause
	since      time.Time
	work       types.UID
	generation int64
	// before is what the managed cluster reported before a change that it may not have
	// compared for yet, by that work, and applied when the change was first seen to be applied.
	before     *status.Facts
	beforeWork types.UID
	applied    time.Time
}

// facts are what [delay] goes by.
type facts struct {
	// initial: no work, or none that its cluster reports on, and the status is empty.
	initial    bool
	work       types.UID
	generation int64
	// reported is what the cluster reports, and reason that of the observation.
	reported *status.Facts
	reason   status.Reason
	// shown: the status shows a change as pending.
	shown bool
	// requested: the status shows no operation, and the hub asks for one (see request.Run).
	requested bool
	graces    graces
}

// graces are the longest times that a status waits.
type graces struct{ initial, apply, compare time.Duration }

func (f *facts) cause() cause {
	switch {
	case f.initial:
		return initialStatus
	case f.requested && f.reason == "":
		return operation
	case f.reason == status.ChangeUndelivered:
		return delivery
	case f.reason == status.ChangePending:
		return apply
	}
	return nothing
}

// delay returns how long the status of an Application is not written yet, zero when it is
// written now, and what is to be remembered of it.
//
//   - A new Application waits for its cluster's first report.
//   - A client that asks for an operation and removed the state of the one before waits for the
//     next state. What the cluster reports before that waits for it, too: otherwise Kargo writes
//     its operation again.
//   - A change waits for its delivery, and then for the agent to apply it, before it is
//     shown as pending: usually both take some milliseconds.
//   - One that was shown as pending stays so, once applied, until the cluster reports
//     something new: what it reported before is about what was before.
func delay(e entry, f facts, now time.Time) (entry, time.Duration) {
	cause := f.cause()
	switch {
	case cause == nothing:
		e.cause, e.work, e.generation, e.since = nothing, "", 0, time.Time{}
	case cause != e.cause || f.work != e.work || f.generation != e.generation:
		e.cause, e.work, e.generation, e.since = cause, f.work, f.generation, now
	}
	switch {
	case cause == initialStatus:
		return e, max(0, f.graces.initial-now.Sub(e.since))
	case cause == operation:
		return e, max(0, f.graces.compare-now.Sub(e.since))
	case cause != nothing:
		e.before, e.beforeWork, e.applied = f.reported, f.work, time.Time{}
		return e, max(0, f.graces.apply-now.Sub(e.since))
	case f.reason != "":
		return e, 0 // the cluster is lost, or has failed: that is said at once
	case !f.shown:
		e.before, e.beforeWork, e.applied = nil, "", time.Time{}
		return e, 0
	case e.before != nil && (e.beforeWork != f.work || !f.reported.Repeats(e.before)):
		return e, 0
	case e.before == nil:
		e.before, e.beforeWork = f.reported, f.work
	}
	if e.applied.IsZero() {
		e.applied = now
	}
	return e, max(0, f.graces.compare-now.Sub(e.applied))
}
