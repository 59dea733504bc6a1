// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Decide returns what becomes of an Application and of each of its ManifestWorks. First comes
// whether a work may be where it is, which is a fact about the work. What the Application
// asks for is followed for the works that are left.
func Decide(f Facts) Plan {
	d := newDecision(f)
	for _, s := range d.subjects {
		s.permitted()
	}
	if f.Application == nil {
		d.gone()
	} else {
		w := &wish{d: d, app: f.Application, identity: payload.DeliveredName(f.Application)}
		w.follow()
	}
	for _, s := range d.subjects {
		s.finish()
	}
	d.release()
	d.report()
	for _, s := range d.subjects {
		d.plan.Fates = append(d.plan.Fates, *s.fate)
	}
	return d.plan
}

// decision is one call of [Decide] under way.
type decision struct {
	facts    Facts
	plan     Plan
	subjects []*subject
	// current stands for the Application on its target, nil for none.
	current *subject
	// told is what the wish says of itself.
	told told
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

// permitted is about the work alone, by what it carries, whatever the Application asks for.
func (s *subject) permitted() {
	w, t := s.work, s.fate
	switch {
	case s.terminating():
		t.Act = Leave
		return
	case w.Cluster.Leaving:
		t.Act, t.Why, t.Due, s.shared = End, ClusterLeaving, true, true
		return
	}
	for _, missing := range []struct {
		is  bool
		why Why
	}{{w.Cluster.Hub, LocalCluster}, {!w.May.Bound, NotBound}, {!w.May.Project, ProjectNotAllowed}, {!w.May.Namespace, NamespaceNotAllowed}} {
		if !missing.is {
			continue
		}
		since := earlier(w.Note.Since[missing.why], s.facts.Now)
		t.Clocks[missing.why] = since
		left := s.facts.Settings.BindingGrace - s.facts.Now.Sub(since)
		switch {
		case left <= 0 && t.Act != End:
			t.Act, t.Why, t.Due = End, missing.why, true
		case left > 0 && t.Act != End: // upcoming: it is counted
			t.Why = missing.why
			s.plan.again(left)
		}
	}
}

// earlier returns since, or now for none and for one that lies ahead.
func earlier(since, now time.Time) time.Time {
	if since.IsZero() || since.After(now) {
		return now
	}
	return since
}

// again has the plan made again after a time, 0 for not.
func (p *Plan) again(after time.Duration) { p.After = sooner(p.After, after) }

// sooner returns the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// gone ends what is left of an Application that has been gone for its grace. One that is
// made again at once keeps what it runs.
func (d *decision) gone() {
	if len(d.subjects) == 0 {
		return
	}
	d.plan.GoneSince = earlier(d.facts.GoneSince, d.facts.Now)
	left := d.facts.Settings.RecreateGrace - d.facts.Now.Sub(d.plan.GoneSince)
	if left <= 0 {
		d.end(ApplicationGone)
		return
	}
	d.plan.again(left)
	for _, s := range d.kept() {
		if s.fate.Why == "" {
			s.fate.Why = ApplicationGone // upcoming
		}
	}
}

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

func cachedWorks(subjects []*subject) (list []*manifestcache.Work) {
	for _, s := range subjects {
		list = append(list, s.work.Work)
	}
	return list
}
