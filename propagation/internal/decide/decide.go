// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
)

// Decide returns the decisions about an Application and about each of its ManifestWorks. First it
// checks, for each work, whether the work may be where it is. Then it compares the works that may
// stay with the delivery that the Application asks for.
func Decide(f Facts) Plan {
	d := newEvaluation(f)
	for _, s := range d.subjects {
		s.permitted()
	}
	if f.Application == nil {
		d.gone()
	} else {
		w := &delivery{e: d, app: f.Application, identity: payload.DeliveredName(f.Application)}
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

// permitted checks the permissions of the work's cluster and namespace, whatever the Application
// asks for.
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
		case left > 0 && t.Act != End: // not due yet, but counted
			t.Why = missing.why
			s.plan.again(left)
		}
	}
}

// gone removes the works of an Application that has been deleted for longer than its grace period.
// An Application that is re-created within that time keeps its workload.
func (e *evaluation) gone() {
	if len(e.subjects) == 0 {
		return
	}
	e.plan.GoneSince = earlier(e.facts.GoneSince, e.facts.Now)
	left := e.facts.Settings.RecreateGrace - e.facts.Now.Sub(e.plan.GoneSince)
	if left <= 0 {
		e.end(ApplicationGone)
		return
	}
	e.plan.again(left)
	for _, s := range e.kept() {
		if s.fate.Why == "" {
			s.fate.Why = ApplicationGone // not due yet, but counted
		}
	}
}
