// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// TestOutage_keepsTheDataAndReportsItsAge makes the whole service fail in each possible way, and restores it.
func TestOutage_keepsTheDataAndReportsItsAge(t *testing.T) {
	type outage struct {
		name   string
		faults search.Faults
	}
	for reason, outages := range map[string][]outage{
		"there is no answer": {
			{"connections are refused", search.Faults{Refuse: true}},
			{"the service times out", search.Faults{TimedOut: true}},
			{"the answer comes too late", search.Faults{Delay: time.Hour}},
			{"the connection breaks in the body", search.Faults{BreakOff: true}},
			{"statements time out", search.Faults{StatementTimeout: true}},
		},
		"the account is nobody": {
			{"the account is unknown", search.Faults{Status: 403}},
			{"the token is not seen", search.Faults{Status: 401}},
			{"the review of the token fails", search.Faults{Status: 500}},
			{"access cannot be resolved", search.Faults{AccessUnresolved: true}},
		},
		"the answer is none": {
			{"the database is away", search.Faults{DatabaseDown: true}},
			{"the database went a moment ago", search.Faults{DatabaseGone: true}},
			{"a proxy answers", search.Faults{Status: 502}},
			{"a router answers with a page", search.Faults{NotJSON: true}},
			{"data is null without an error", search.Faults{NullResult: true}},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			w := start(t)
			from := w.polled()
			for _, o := range outages {
				t.Run(o.name, func(t *testing.T) { from = w.in(t).outage(from, o.faults) })
			}
		})
	}
}

// outage makes the service fail and recover, and checks the reports. The last good answer arrives after from.
// outage returns the earliest time of the next good answer.
func (w *world) outage(from time.Time, f search.Faults) (healed time.Time) {
	w.witness.always(whole)
	to := w.faults(f)
	w.witness.always(all(whole, aged(from, to)))
	w.eventually("all is said to be old", func(s state) bool { return s.stale() == s.apps() })
	healed = w.faults(search.Faults{})
	w.eventually("all is new again", func(s state) bool { return s.stale() == 0 })
	w.witness.always(nil)
	return healed
}

// polled waits until a poll has begun after now and has ended. It returns a time before that good poll.
func (w *world) polled() time.Time {
	w.t.Helper()
	now := time.Now()
	w.awaitPolls(2)
	return now
}

// awaitPolls waits until the server has received the requests of n more polls.
func (w *world) awaitPolls(n int) {
	w.t.Helper()
	target := w.server.Requests() + 2*n
	w.eventually("search has been asked again", func(state) bool { return w.server.Requests() >= target })
}

// TestOutage_keepsTheOldStateOverAChange changes the resources of an Application while search is down. The old state stays
// until search reports the new one.
func TestOutage_keepsTheOldStateOverAChange(t *testing.T) {
	w := start(t)
	from := w.polled()
	to := w.faults(search.Faults{Refuse: true})
	w.witness.always(all(whole, aged(from, to)))
	w.server.Table().Delete(memory.Resource(memory.ClusterName(0), memory.SetName(0), 2).UID)
	w.eventually("all is said to be old", func(s state) bool { return s.stale() == s.apps() })
	w.faults(search.Faults{})
	w.eventually("the resource is held", func(s state) bool { return s.held() == 1 && s.stale() == 0 })
}

// TestOutage_keepsTheDataAcrossARestart restarts resourcesync while search is down. The files contain the only known data,
// and its age stays correct.
func TestOutage_keepsTheDataAcrossARestart(t *testing.T) {
	w := start(t)
	from := w.polled()
	to := w.faults(search.Faults{DatabaseDown: true})
	w.witness.always(all(whole, aged(from, to)))
	w.eventually("all is said to be old", func(s state) bool { return s.stale() == s.apps() })
	w.process.stop(t)
	w.run()
	w.awaitPolls(2)
	w.faults(search.Faults{})
	w.eventually("all is new again", func(s state) bool { return s.stale() == 0 })
}

// TestSlowAnswers_makeNoDataStale delays the answers within the timeout, which makes no data stale.
func TestSlowAnswers_makeNoDataStale(t *testing.T) {
	w := start(t)
	w.faults(search.Faults{Delay: 1500 * time.Millisecond})
	w.witness.always(all(whole, fresh))
	w.awaitPolls(2)
	w.witness.always(nil)
	w.server.Table().Put(changed())
	w.eventually("the new condition shows", hasCondition)
}

// changed returns an Application with a new error.
func changed() table.Row {
	row := memory.Application(memory.ClusterName(1), memory.SetName(1))
	row.Data["_conditionSyncError"] = "one or more objects failed to apply"
	row.Data["syncStatus"] = "OutOfSync"
	return row
}

func hasCondition(s state) bool {
	for _, app := range s.of(memory.ClusterName(1)) {
		for _, condition := range app.Conditions {
			if condition.Type == "SyncError" {
				return true
			}
		}
	}
	return false
}
