// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// ownPolicy returns the deletion policy that a living Application sets itself.
func ownPolicy(f *Facts) policy.DeletionPolicy {
	if f.Application == nil {
		return policy.DeletionPolicy{}
	}
	return policy.ParseDeletionPolicy(f.Application.Annotations[contract.DeletionPolicyAnnotation], "Application "+f.Key.String(), false)
}

// policyOf returns the deletion policy that applies: the Application's own, else its
// ApplicationSet's.
func policyOf(f *Facts, set *Annotations) policy.DeletionPolicy {
	own := ownPolicy(f)
	if own.Value != "" || own.Problem != "" || set == nil {
		return own
	}
	p := set.Policy
	p.Abandon = own.Abandon
	return p
}

// markOf returns the orphan mark of a work, which names who set it. was is the present mark. A mark
// by the Application outlives the Application. A mark by an ApplicationSet stays while the
// Application has none. An invalid policy changes no mark.
func markOf(f *Facts, set *Annotations, was payload.Mark) payload.Mark {
	own := ownPolicy(f)
	switch {
	case policyOf(f, set).Problem != "":
		return was
	case own.Value == payload.DeletionOrphan:
		return payload.ByApplication
	case own.Value != "":
		return payload.NoMark
	case f.Application == nil && was == payload.ByApplication:
		return was
	case set != nil && set.Policy.Value == payload.DeletionOrphan:
		return payload.BySet
	case set != nil && !set.Gone:
		return payload.NoMark
	case f.Application == nil || was == payload.BySet:
		return was
	}
	return payload.NoMark
}

// set returns the annotations of the ApplicationSet that apply to this work.
func (s *subject) set() *Annotations {
	if s.facts.Application != nil {
		return s.facts.Owner
	}
	return s.work.Set
}

func (s *subject) mark() payload.Mark {
	return markOf(s.facts, s.set(), payload.MarkOf(s.work.Annotations))
}

// abandoned reports whether a deleted Application does not wait for its clusters.
func (s *subject) abandoned() bool {
	app := s.facts.Application
	return app != nil && app.DeletionTimestamp != nil && s.fate.Why == Deleting && ownPolicy(s.facts).Abandon
}
