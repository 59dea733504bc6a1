// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// finish completes a fate: the lane, the delay of the removal, how the work ends, and the next
// step. It also decides which parts of a remaining work are updated.
func (s *subject) finish() {
	t := s.fate
	if t.Act == Leave {
		return
	}
	if t.Why != "" {
		t.Lane = s.lane()
		t.Override = s.override()
	}
	if t.Act == End {
		t.How = s.reduced(s.how())
		t.Delayed = s.delay()
		t.Next, t.Wait = s.next()
		switch {
		case t.Next != StepWait:
		case t.Wait.For == WaitsForAgent:
			s.plan.again(afterAgent)
		default:
			s.plan.again(afterCluster)
		}
	}
	// A change of rights is delivered to every work that stays, even if it is paused, refused or
	// held.
	t.Project = s.work.Stale && !s.observes() && t.Act != Rewrite
	if t.Act == Keep || t.Act == Refresh {
		t.Automation = s.automation()
	}
	if t.Act == Keep && (t.Project || t.Automation != AutomationStays) {
		t.Act = Refresh
	}
}

// automation returns the change of syncPolicy.automated in a work that stays. A pause of syncs
// removes it, and the end of the pause restores it. While an operation is running nothing changes,
// because the agent would apply the operation again.
func (s *subject) automation() Automation {
	if s.facts.Application == nil || s.observes() || s.requested() {
		return AutomationStays
	}
	out := s.work.Annotations[contract.PausedAnnotation] != ""
	pause := s.paused(Deliver)
	if out && pause.Mode != "" {
		s.plan.again(pause.Left(s.facts.Now))
	}
	switch {
	case pause.Mode == policy.PauseSync && !out:
		return AutomationOut
	case pause.Mode == "" && out:
		return AutomationBack
	}
	return AutomationStays
}

// requested reports whether the cluster may be running the one-time request that the work carries.
func (s *subject) requested() bool {
	if s.work.Extra.Request == "" || request.IsRefresh(s.work.Extra.Request) {
		return false
	}
	step := request.PlanFor(s.facts.Application, s.work.Work, s.facts.Request)
	return step.Step == request.StepHold
}
