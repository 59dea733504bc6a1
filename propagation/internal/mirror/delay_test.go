// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Each case is the life of one Application. A step has the facts at a time, and how long the status then
// waits.
func TestDelay(t *testing.T) {
	old, answer := factsOf("1", "Healthy"), factsOf("1", "Degraded")
	limits := graces{initial: time.Minute, apply: 2 * time.Second, compare: 10 * time.Second}
	const undelivered, pending = status.ChangeUndelivered, status.ChangePending
	at := func(work types.UID, generation int64, reported status.WorkStatus, reason status.Reason, shown bool) facts {
		return facts{work: work, generation: generation, reported: &reported, reason: reason, shown: shown, graces: limits}
	}
	lost := func(f facts) facts {
		f.shownLost = true
		return f
	}
	requested := func(f facts) facts {
		f.requested = true
		return f
	}
	type step struct {
		reason      string
		facts       facts
		after, want time.Duration
	}
	for name, steps := range map[string][]step{
		"initial status": {
			{"it begins with the first look", facts{initial: true, graces: limits}, 0, time.Minute},
			{"it goes on", facts{initial: true, graces: limits}, 40 * time.Second, 20 * time.Second},
			{"and is over", facts{initial: true, graces: limits}, 2 * time.Minute, 0},
			{"a work that appears begins it anew", facts{initial: true, work: "1", graces: limits}, time.Hour, time.Minute},
			{"a report ends it", at("1", 1, old, "", false), time.Hour, 0},
		},
		"a change that is applied at once": {
			{"nothing changes", at("1", 1, old, "", false), 0, 0},
			{"it is about to be delivered", at("1", 1, old, undelivered, false), 0, 2 * time.Second},
			{"it is delivered, and the agent has as long", at("1", 2, old, pending, false), time.Second, 2 * time.Second},
			{"it is applied: nothing was shown that must not be taken back", at("1", 2, old, "", false), 2 * time.Second, 0},
		},
		"a change that is not delivered": {
			{"it is about to be", at("1", 1, old, undelivered, false), 0, 2 * time.Second},
			{"more changes do not put it off", at("1", 1, old, undelivered, false), time.Second, time.Second},
			{"it is shown", at("1", 1, old, undelivered, false), 2 * time.Second, 0},
			{"and what the cluster reports meanwhile is about the spec before", at("1", 1, answer, undelivered, true), time.Minute, 0},
			{"it is delivered", at("1", 2, answer, pending, true), 2 * time.Minute, 2 * time.Second},
			{"and applied: the last report does not count", at("1", 2, answer, "", true), 2*time.Minute + time.Second, 10 * time.Second},
			{"the next one does", at("1", 2, old, "", true), 2*time.Minute + 2*time.Second, 0},
		},
		"a change that the agent applies late": {
			{"shown or not", at("1", 1, old, pending, true), 0, 2 * time.Second},
			{"the time is up", at("1", 1, old, pending, true), 2 * time.Second, 0},
			{"it is applied: the report from before does not count", at("1", 1, old, "", true), 3 * time.Second, 10 * time.Second},
			{"nor a little later", at("1", 1, old, "", true), 7 * time.Second, 6 * time.Second},
			{"a new report counts, though the old one is still shown", at("1", 1, answer, "", true), 8 * time.Second, 0},
			{"the time is up without one", at("1", 1, old, "", true), 13 * time.Second, 0},
			{"and stays so while it cannot be written", at("1", 1, old, "", true), 14 * time.Second, 0},
			{"it is written", at("1", 1, old, "", false), 15 * time.Second, 0},
			{"what another process has shown waits as long", at("1", 1, old, "", true), 20 * time.Second, 10 * time.Second},
			{"until there is news", at("1", 1, answer, "", true), 21 * time.Second, 0},
			{"the next change begins anew", at("1", 2, answer, pending, true), 22 * time.Second, 2 * time.Second},
			{"and what is reported then is the old report", at("1", 2, answer, "", true), 31 * time.Second, 10 * time.Second},
			{"the same report of another ManifestWork is news", at("2", 1, factsOf("2", "Degraded"), "", true), 32 * time.Second, 0},
		},
		"a change that the agent cannot apply": {
			{"it is shown at once", at("1", 1, old, status.ApplyFailed, false), 0, 0},
			{"and what the cluster reports meanwhile is about the spec before", at("1", 1, answer, status.ApplyFailed, true), time.Minute, 0},
			{"it is applied: the last report does not count", at("1", 1, answer, "", true), 2 * time.Minute, 10 * time.Second},
			{"the next one does", at("1", 1, old, "", true), 2*time.Minute + time.Second, 0},
			{"a correction that is applied at once", at("1", 2, old, status.ApplyFailed, true), 3 * time.Minute, 0},
			{"is not compared either", at("1", 3, old, "", true), 3*time.Minute + time.Second, 10 * time.Second},
			{"the time is up", at("1", 3, old, "", true), 3*time.Minute + 11*time.Second, 0},
			{"it is written", at("1", 3, old, "", false), 4 * time.Minute, 0},
		},
		"a cluster that is lost": {
			{"a change waits for its agent", at("1", 1, old, pending, true), 0, 2 * time.Second},
			{"it is shown at once", at("1", 1, old, status.ClusterUnreachable, true), time.Second, 0},
			{"it is back and has applied the change: the report from before does not count", at("1", 1, old, "", true), time.Minute, 10 * time.Second},
			{"lost again", at("1", 1, old, status.ClusterUnreachable, true), time.Minute + 5*time.Second, 0},
			{"the wait begins anew", at("1", 1, old, "", true), 2 * time.Minute, 10 * time.Second},
			{"the first other report may be a comparison during the outage", at("1", 1, answer, "", true), 2*time.Minute + time.Second, 9 * time.Second},
			{"and does not count later", at("1", 1, answer, "", true), 2*time.Minute + 3*time.Second, 7 * time.Second},
			{"the next report counts", at("1", 1, old, "", true), 2*time.Minute + 4*time.Second, 0},
			{"it is written", at("1", 1, old, "", false), 2*time.Minute + 5*time.Second, 0},
			{"a later change waits for one report", at("1", 2, old, pending, true), 3 * time.Minute, 2 * time.Second},
			{"and has it", at("1", 2, answer, "", true), 3*time.Minute + time.Second, 0},
			{"lost, with a comparison during the outage", at("1", 2, old, status.ClusterUnreachable, true), 4 * time.Minute, 0},
			{"back", at("1", 2, answer, "", true), 5 * time.Minute, 10 * time.Second},
			{"the time is up without another one", at("1", 2, answer, "", true), 5*time.Minute + 10*time.Second, 0},
			{"lost again", at("1", 2, old, status.ClusterUnreachable, true), 6 * time.Minute, 0},
			{"a report of another ManifestWork is news", at("2", 1, factsOf("2", "Healthy"), "", true), 7 * time.Minute, 0},
		},
		"a lost cluster that another process has shown": {
			{"it is back", lost(at("1", 1, old, "", true)), 0, 10 * time.Second},
			{"the first report may be a comparison during the outage", lost(at("1", 1, answer, "", true)), time.Second, 9 * time.Second},
			{"the next one counts", lost(at("1", 1, old, "", true)), 2 * time.Second, 0},
		},
		"an operation that the hub asks for": {
			{"it is about to begin", requested(at("1", 1, old, "", false)), 0, 10 * time.Second},
			{"a change with it is as any other", requested(at("1", 1, old, undelivered, false)), time.Second, 2 * time.Second},
			{"and delivered", requested(at("1", 2, old, pending, false)), 2 * time.Second, 2 * time.Second},
			{"the cluster has applied both", requested(at("1", 2, old, "", false)), 3 * time.Second, 10 * time.Second},
			{"and compared", requested(at("1", 2, answer, "", false)), 4 * time.Second, 9 * time.Second},
			{"it has begun", at("1", 2, answer, "", false), 5 * time.Second, 0},
			{"another is about to begin", requested(at("1", 2, answer, "", false)), 6 * time.Second, 10 * time.Second},
			{"a cluster that is lost is shown at once", requested(at("1", 2, answer, status.ClusterUnreachable, false)), 7 * time.Second, 0},
			{"it is back", requested(at("1", 2, answer, "", false)), 8 * time.Second, 10 * time.Second},
			{"the time is up", requested(at("1", 2, answer, "", false)), 18 * time.Second, 0},
			{"and stays so", requested(at("1", 2, old, "", false)), 19 * time.Second, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Unix(1_000_000, 0)
			var e entry
			for _, s := range steps {
				var wait time.Duration
				if e, wait = delay(e, s.facts, begun.Add(s.after)); wait != s.want {
					t.Errorf("%s: waits for %s, want %s", s.reason, wait, s.want)
				}
			}
		})
	}
}

// The memory keeps nothing about an Application that has nothing to wait for, or no longer exists.
func TestMemory_forgetsSettledApplications(t *testing.T) {
	var m memory
	app, now := types.NamespacedName{Namespace: "a", Name: "b"}, time.Unix(1_000_000, 0)
	e, _ := delay(entry{}, facts{initial: true}, now)
	m.put(app, e)
	if _, others := m.of(app); others != 0 || m.initial != 1 {
		t.Errorf("%d wait, %d of them others", m.initial, others)
	}
	m.feedbackSeen(app, now)
	m.feedbackSeen(app, now.Add(time.Second))
	e, _ = delay(e, facts{}, now)
	m.put(app, e)
	if at := m.takeFeedback(app); !at.Equal(now) {
		t.Errorf("feedback was first seen at %s", at)
	}
	if m.initial != 0 || len(m.entries) != 0 {
		t.Errorf("%d wait, and %v is kept", m.initial, m.entries)
	}
	m.returnFeedback(app, now)
	m.setSource(app, "1")
	if m.source(app) != "1" || len(m.entries) != 1 {
		t.Errorf("of work %q, entries %v", m.source(app), m.entries)
	}
	if m.forget(app); len(m.entries)+len(m.sources) != 0 {
		t.Errorf("what is forgotten is kept: %v, %v", m.entries, m.sources)
	}
}
