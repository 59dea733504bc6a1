// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// ownPolicy returns what a living Application itself says of the end of its delivery.
func ownPolicy(f *Facts) policy.DeletionPolicy {
	if f.Application == nil {
		return policy.DeletionPolicy{}
	}
	return policy.ParseDeletionPolicy(f.Application.Annotations[contract.DeletionPolicyAnnotation], "Application "+f.Key.String(), false)
}

// policyOf returns what counts of the end of a delivery: the Application's own word, else its set's.
func policyOf(f *Facts, set *Words) policy.DeletionPolicy {
	own := ownPolicy(f)
	if own.Word != "" || own.Problem != "" || set == nil {
		return own
	}
	p := set.Policy
	p.Abandon = own.Abandon
	return p
}

// markOf returns who says that what is delivered stays; was is what the work says. A mark by the
// Application outlives it. One by a set stays while the Application has no set. What cannot be
// followed changes no mark.
func markOf(f *Facts, set *Words, was payload.Mark) payload.Mark {
	own, living := ownPolicy(f), set != nil && !set.Gone
	switch {
	case policyOf(f, set).Problem != "":
		return was
	case own.Word == payload.DeletionOrphan:
		return payload.ByApplication
	case own.Word != "":
		return payload.NoMark
	case f.Application == nil && was == payload.ByApplication:
		return was
	case living && set.Policy.Word == payload.DeletionOrphan:
		return payload.BySet
	case living:
		return payload.NoMark
	case f.Application == nil || was == payload.BySet:
		return was
	}
	return payload.NoMark
}

// set returns what the ApplicationSet says that has a say in this work.
func (s *subject) set() *Words {
	if s.facts.Application != nil {
		return s.facts.Owner
	}
	return s.work.Set
}

func (s *subject) mark() payload.Mark {
	return markOf(s.facts, s.set(), payload.MarkOf(s.work.Annotations))
}

// abandoned reports whether the owner of a deleted Application does not wait for its clusters.
func (s *subject) abandoned() bool {
	app := s.facts.Application
	return app != nil && app.DeletionTimestamp != nil && s.fate.Why == Deleting && ownPolicy(s.facts).Abandon
}
