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

// evaluation is the state of one call of [Decide].
type evaluation struct {
	facts    Facts
	plan     Plan
	subjects []*subject
	// outcome is the result for the desired delivery.
	outcome outcome
}

// subject is a work and its fate.
type subject struct {
	facts *Facts
	work  *Work
	fate  *Fate
	// counts is true for the one own work on its cluster that counts for the Application's owner.
	counts bool
	// shared is true if no workload is lost with the work: another work delivers it, or it does not
	// exist.
	shared bool
	plan   *Plan
}

// outcome is the result for the desired delivery, for the report.
type outcome struct {
	// refusal is why the delivery is refused. It is nil if it is written or waits.
	refusal *policy.Decision
	// off is true if all works are removed. deleting is true if the Application is being deleted.
	off, deleting bool
	// delivers is true if the desired work exists or is written.
	delivers bool
	warnings []policy.Message
	// pause keeps the work on the target unchanged, or is the zero Pause.
	pause policy.Pause
}

func newEvaluation(f Facts) *evaluation {
	d := &evaluation{facts: f, plan: Plan{Key: f.Key, Group: Group{Namespace: f.Key.Namespace}}}
	if f.Application != nil {
		d.plan.Group.Set = f.Application.OwningApplicationSet()
	}
	for i := range f.Works {
		w := &f.Works[i]
		own := f.Application != nil && w.Relation != Leftover
		d.subjects = append(d.subjects, &subject{
			facts: &d.facts, work: w, plan: &d.plan,
			fate: &Fate{UID: w.UID, Own: own, Group: GroupOf(w.Work), Clocks: map[Why]time.Time{}},
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

// goesBefore reports whether o counts instead of s. A work that is proven by its name comes before
// a work that is proven by an annotation, because an agent can copy an annotation. Then the older
// work comes first.
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

// kept returns the subjects without a decision so far.
func (e *evaluation) kept() (list []*subject) {
	for _, s := range e.subjects {
		if s.fate.Act == Keep {
			list = append(list, s)
		}
	}
	return list
}

// end removes all kept works.
func (e *evaluation) end(why Why) {
	for _, s := range e.kept() {
		s.end(why)
	}
}

func (s *subject) end(why Why) { s.fate.Act, s.fate.Why, s.fate.Due = End, why, true }

// endShared removes a work with which no workload is lost.
func (s *subject) endShared(why Why) {
	s.end(why)
	s.shared = true
}

// earlier returns since. If since is zero or in the future, it returns now.
func earlier(since, now time.Time) time.Time {
	if since.IsZero() || since.After(now) {
		return now
	}
	return since
}
