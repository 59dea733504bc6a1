// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// cause is why a status is not written yet.
type cause string

const (
	nothing       cause = ""
	initialStatus cause = "initial status" // the managed cluster has not reported on a new Application
	delivery      cause = "delivery"       // a change of the Application is not delivered yet
	apply         cause = "apply"          // the agent has not applied a change of the ManifestWork
	operation     cause = "operation"      // an operation that the hub asks for has not started
)

// entry is the memory of one Application.
type entry struct {
	// feedback is when the first feedback was observed that is not written yet.
	feedback time.Time
	// cause is why the status has waited since that time, at that generation of that work.
	cause      cause
	since      time.Time
	work       types.UID
	generation int64
	// before has the last facts of the managed cluster while the status could not show them. The
	// cluster may not have compared since. beforeWork has the feedback, and ended is when the
	// reason was first observed to have ended.
	before     *status.WorkStatus
	beforeWork types.UID
	ended      time.Time
	// lost is true if the cluster was unreachable. Its next report may be of a comparison from
	// during the outage, before the agent applied the last change.
	lost bool
}

// facts are the input of [delay].
type facts struct {
	// initial is true if the status is empty and no work has reported.
	initial    bool
	work       types.UID
	generation int64
	// reported has the facts that the cluster reports. reason is the reason of the observation.
	reported *status.WorkStatus
	reason   status.Reason
	// shown is true if the status shows a reason instead of the cluster's report.
	shown bool
	// shownLost is true if the reason that the status shows is an unreachable cluster.
	shownLost bool
	// requested is true if the hub asks for an operation and the status shows none (see
	// request.Run).
	requested bool
	graces    graces
}

// graces are the longest times for which a status waits.
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

// delay returns how long the status of an Application must wait before it is written, or zero, and
// the next memory of the Application.
//
//   - A new Application waits for the first report of its cluster.
//   - If a client asks for an operation and has removed the state of the previous operation, the
//     status waits for the next state. Older reports wait as well, or Kargo would write its operation
//     again.
//   - A change waits for its delivery and for the agent before it is shown as pending. Both usually
//     take some milliseconds.
//   - A lost cluster and a failure are shown at once.
//   - A pending change, a failure or a lost cluster that is shown stays so after its end. It stays
//     until the cluster reports something new, because the earlier report is about the earlier state.
//   - After a lost cluster the first new report does not count either. Argo CD on the cluster went on
//     comparing the earlier state, and the hub has received none of these comparisons.
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
	case f.reason != "":
		e.before, e.beforeWork, e.ended = f.reported, f.work, time.Time{}
		e.lost = e.lost || f.reason == status.ClusterUnreachable
		if cause == nothing {
			return e, 0
		}
		return e, max(0, f.graces.apply-now.Sub(e.since))
	case !f.shown:
		e.before, e.beforeWork, e.ended, e.lost = nil, "", time.Time{}, false
		return e, 0
	case e.before == nil:
		e.before, e.beforeWork, e.lost = f.reported, f.work, f.shownLost
	case e.beforeWork != f.work, !e.lost && !f.reported.Repeats(e.before):
		return e, 0
	case !f.reported.Repeats(e.before):
		e.before, e.lost = f.reported, false
	}
	if e.ended.IsZero() {
		e.ended = now
	}
	return e, max(0, f.graces.compare-now.Sub(e.ended))
}
