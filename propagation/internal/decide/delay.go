// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Level is a kind of object that can delay a change of a delivery, by an annotation or a claim.
type Level int

// Tenants write Applications and ApplicationSets. Administrators write Namespaces. The agent writes
// its own ManagedCluster, and a cluster's administrators write its ClusterClaims.
const (
	OnApplication Level = iota
	OnApplicationSet
	OnNamespace // the Namespace of the Application, and propagation's
	OnCluster   // ManagedCluster and ClusterClaim
)

// Change is a kind of change of a delivery.
type Change int

// These are the kinds of change.
const (
	Deliver Change = iota // a ManifestWork is created or updated
	Remove                // a ManifestWork is removed, because its tenant asks for it
	Revoke                // a ManifestWork is removed, because a permission is lost
)

// delays lists who can delay which change: by a pause, by a hold, or by an invalid value.
var delays = map[Change]map[Level]bool{
	Deliver: {OnApplication: true, OnApplicationSet: true, OnNamespace: true, OnCluster: true},
	Remove:  {OnApplication: true, OnApplicationSet: true, OnNamespace: true},
	Revoke:  {OnNamespace: true},
}

// ChangeOf returns the change that removes a ManifestWork for a reason.
func ChangeOf(why Why) Change {
	switch why {
	case "":
		return Deliver
	case NotBound, ProjectNotAllowed, NamespaceNotAllowed, LocalCluster:
		return Revoke
	default:
		return Remove
	}
}

// pauseOn returns the pause of a change on a cluster. A ManagedCluster that is being deleted cannot
// pause anything.
func pauseOn(f *Facts, cluster Cluster, set *Annotations, change Change) policy.Pause {
	if cluster.Leaving {
		return policy.Pause{}
	}
	var pauses []policy.Pause
	add := func(speaker Level, p policy.Pause) {
		if delays[change][speaker] {
			pauses = append(pauses, p)
		}
	}
	if f.Application != nil {
		by := "annotation " + contract.PausedAnnotation + " of Application " + f.Key.String()
		add(OnApplication, policy.ParsePause(f.Application.Annotations[contract.PausedAnnotation], by, f.Now))
	}
	if set != nil {
		add(OnApplicationSet, set.Pause)
	}
	add(OnNamespace, f.Namespace.Pause)
	add(OnNamespace, f.Hub.Pause)
	add(OnCluster, cluster.Pause)
	return policy.StrongestPause(pauses...)
}

// paused returns the pause of a change of this work.
func (s *subject) paused(change Change) policy.Pause {
	return pauseOn(s.facts, s.work.Cluster, s.set(), change)
}

// delay returns the cause that delays the removal of a work. A hold does not delay the removal of a
// shared work, because no workload is lost. A pause does.
func (s *subject) delay() Delay {
	if s.shared && s.fate.Why != NeverApplied {
		return Delay{}
	}
	change := ChangeOf(s.fate.Why)
	if p := s.paused(change); p.Mode != "" {
		s.plan.again(p.Left(s.facts.Now))
		return Delay{By: p.By, Pause: p}
	}
	if r := s.fate.Override; r.Effect.Keeps() {
		if !r.Until.IsZero() {
			s.plan.again(r.Until.Sub(s.facts.Now))
		}
		return Delay{By: r.On}
	}
	problem := policyOf(s.facts, s.set()).Problem
	if problem != "" && delays[change][OnApplication] && !s.shared && !s.observes() && !s.abandoned() {
		return Delay{By: contract.DeletionPolicyAnnotation, Problem: problem}
	}
	return Delay{}
}
