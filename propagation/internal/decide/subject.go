// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// decision is one call of [Decide] under way.
type decision struct {
	facts    Facts
	plan     Plan
	subjects []*subject
	// outcome is what came of the wish.
	outcome outcome
}

// subject is a work and what becomes of it.
type subject struct {
	facts *Facts
	work  *Work
	fate  *Fate
	// counts: it is the one own work on its cluster that counts for the Application's owner.
	counts bool
	// shared: what it delivers is another work's, too, or is not there: nothing is lost.
	shared bool
	plan   *Plan
}

// outcome is what a wish says of itself, for the report.
type outcome struct {
	// refusal is why it is not followed; nil: it is, or waits.
	refusal *policy.Decision
	// off: everything of it goes. deleting: the Application is being deleted.
	off, deleting bool
	// delivers: what is wanted is on the hub, or is written.
	delivers bool
	warnings []policy.Message
	// pause keeps the ManifestWork on the target as it is, the zero one for none.
	pause policy.Pause
}

func newDecision(f Facts) *decision {
	d := &decision{facts: f, plan: Plan{Key: f.Key, Group: Group{Namespace: f.Key.Namespace}, After: f.Again}}
	if f.Application != nil {
		d.plan.Group.Set = f.Application.OwningApplicationSet()
	}
	for i := range f.Works {
		w := &f.Works[i]
		own := f.Application != nil && w.Relation != Leftover
		d.subjects = append(d.subjects, &subject{
			facts: &d.facts, work: w, plan: &d.plan,
			fate: &Fate{UID: w.UID, Own: own, Clocks: map[Why]time.Time{}},
		})
		if own && w.DeletionTimestamp == nil {
			d.plan.Deliveries = 1
		}
		if f.Application == nil && w.Note.Known && w.DeletionTimestamp == nil {
			d.plan.Group, d.plan.Deliveries = w.Note.Group, 1
		}
	}
	for _, s := range d.subjects {
		s.counts = s.fate.Own && !slices.ContainsFunc(d.subjects, func(o *subject) bool { return o.goesBefore(s) })
	}
	return d
}

// goesBefore reports whether o counts in the place of s: one that its name proves before one that
// an annotation does, which an agent can copy; then the older.
func (s *subject) goesBefore(o *subject) bool {
	if s == o || !s.fate.Own || s.work.Namespace != o.work.Namespace {
		return false
	}
	if mine, its := s.named(), o.named(); mine != its {
		return mine
	}
	a, b := s.work, o.work
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

func (s *subject) named() bool {
	return slices.Contains(payload.WorkNames(s.facts.Application), s.work.Name)
}

func (s *subject) observes() bool { return s.work.Annotations[contract.ObservedAnnotation] != "" }

func (s *subject) terminating() bool { return s.work.DeletionTimestamp != nil }

// kept returns the subjects that nothing has decided about yet.
func (d *decision) kept() (list []*subject) {
	for _, s := range d.subjects {
		if s.fate.Act == Keep {
			list = append(list, s)
		}
	}
	return list
}

// end ends all that is kept.
func (d *decision) end(why Why) {
	for _, s := range d.kept() {
		s.end(why)
	}
}

func (s *subject) end(why Why) { s.fate.Act, s.fate.Why, s.fate.Due = End, why, true }

// endShared ends a work with which nothing is lost.
func (s *subject) endShared(why Why) {
	s.end(why)
	s.shared = true
}

// earlier returns since, or now for none and for one that lies ahead.
func earlier(since, now time.Time) time.Time {
	if since.IsZero() || since.After(now) {
		return now
	}
	return since
}
