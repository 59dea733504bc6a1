// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Speaker is a kind of object that delays what is done about a delivery.
type Speaker int

// Speakers. Tenants write Applications and ApplicationSets, administrators Namespaces. An agent
// writes its own ManagedCluster, a cluster's administrators its ClusterClaims.
const (
	OnApplication Speaker = iota
	OnApplicationSet
	OnNamespace // the Application's and propagation's
	OnCluster   // ManagedCluster and ClusterClaim
)

// Change is a kind of change of a delivery.
type Change int

// Changes.
const (
	Deliver  Change = iota // a ManifestWork is made or changed
	Withdraw               // one ends since its tenant wants that
	Revoke                 // one ends since it may not be there any more
)

// delays is who may delay which change: by a pause, a hold, or a value that is invalid.
var delays = map[Change]map[Speaker]bool{
	Deliver:  {OnApplication: true, OnApplicationSet: true, OnNamespace: true, OnCluster: true},
	Withdraw: {OnApplication: true, OnApplicationSet: true, OnNamespace: true},
	Revoke:   {OnNamespace: true},
}

// ChangeOf returns the change by which a ManifestWork ends for a reason.
func ChangeOf(why Why) Change {
	switch why {
	case "":
		return Deliver
	case NotBound, ProjectNotAllowed, NamespaceNotAllowed, LocalCluster:
		return Revoke
	default:
		return Withdraw
	}
}

// pauseOn returns what pauses a change on a cluster. Where that is leaving nothing is paused.
func pauseOn(f *Facts, cluster Cluster, set *Words, change Change) policy.Pause {
	if cluster.Leaving {
		return policy.Pause{}
	}
	var pauses []policy.Pause
	add := func(speaker Speaker, p policy.Pause) {
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

// paused returns what pauses a change of this work.
func (s *subject) paused(change Change) policy.Pause {
	return pauseOn(s.facts, s.work.Cluster, s.set(), change)
}

// delay returns who delays the end of a work. With a shared one nothing is lost, but a pause leaves
// every work as it is that could go on by itself.
func (s *subject) delay() Delay {
	if s.shared && s.fate.Why != NeverApplied {
		return Delay{}
	}
	change := ChangeOf(s.fate.Why)
	if p := s.paused(change); p.Word != "" {
		s.plan.again(p.Left(s.facts.Now))
		return Delay{By: p.By, Pause: p}
	}
	if r := s.fate.Override; r.Word.Keeps() {
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
