// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// bindingQuiet is how long a lost binding is not reported. The placement controller moves a cluster
// to another PlacementDecision in two writes, and no binding is lost in between.
const bindingQuiet = 3 * time.Second

// waitQuiet is how long an agent may take to apply the ending of a work before a delivered
// Application reports it. A usual move is complete before then.
const waitQuiet = 30 * time.Second

// report sets the conditions of the Application that report the decision.
func (e *evaluation) report() {
	if e.facts.Application == nil || e.plan.Request != nil || e.plan.Release != NoRelease {
		return // its next event leads to the next report
	}
	t := e.outcome
	switch {
	case t.deleting:
		e.plan.left = e.proof()
		e.plan.Report = cmp.Or(e.unfinished(&policy.Decision{Refusal: policy.Message{Reason: policy.ReasonDeleting}}), e.plan.left)
	case t.off:
		v := *t.refusal
		v.Withdrawn = true
		e.plan.Report = cmp.Or(e.unfinished(t.refusal), &v)
	case t.refusal != nil:
		e.plan.Report = e.refusal(*t.refusal)
	case t.delivers:
		v := policy.Decision{Deliver: true, Warnings: slices.Concat(t.warnings, e.upcoming(), e.waiting())}
		if n := e.plan.Waits; n == 1 {
			v = t.pause.Decision("1 change waits")
		} else if n > 0 || t.pause.Problem != "" {
			v = t.pause.Decision(fmt.Sprintf("%d changes wait", n))
		}
		e.plan.Report = &v
	}
	if t.pause.Mode != "" {
		e.plan.again(t.pause.Left(e.facts.Now))
	}
}

// refusal is the report of a refused delivery. Existing works stay, unless a permission is lost.
func (e *evaluation) refusal(v policy.Decision) *policy.Decision {
	if len(e.subjects) == 0 {
		v.Withdrawn = true
		return &v
	}
	if u := e.unfinished(&v); u != nil {
		return u
	}
	for _, s := range e.subjects {
		since, missing := s.fate.Clocks[Why(v.Refusal.Reason)]
		if !missing || s.fate.Act == End {
			continue
		}
		if quiet := bindingQuiet - e.facts.Now.Sub(since); quiet > 0 {
			e.plan.again(quiet)
			return nil
		}
		v.Refusal.Text += fmt.Sprintf("; what was delivered before is withdrawn when that has been so for %s (--binding-grace)", e.facts.Settings.BindingGrace)
		return &v
	}
	if keeper := e.keeper(); keeper != "" {
		v.Refusal.Text += fmt.Sprintf("; until then cluster %q keeps what was delivered before", keeper)
	}
	return &v
}

// keeper returns the cluster that keeps the delivered Application, or "". The target comes first.
func (e *evaluation) keeper() (cluster string) {
	target := e.facts.Application.Annotations[contract.ClusterAnnotation]
	for _, s := range e.subjects {
		if s.fate.Act != End && s.fate.Act != Leave && !s.observes() && (cluster == "" || s.work.Namespace == target) {
			cluster = s.work.Namespace
		}
	}
	return cluster
}

// upcoming warns about works that have lost a permission, although the desired delivery is written.
func (e *evaluation) upcoming() (found []policy.Message) {
	for _, s := range e.subjects {
		t := s.fate
		since, missing := t.Clocks[t.Why]
		if !missing || t.Act == End {
			continue
		}
		if quiet := bindingQuiet - e.facts.Now.Sub(since); quiet > 0 {
			e.plan.again(quiet)
			continue
		}
		found = append(found, policy.Message{Reason: string(t.Why), Text: fmt.Sprintf(
			"ManifestWork %s may not be on cluster %q any more (%s): it is withdrawn when that has been so for %s (--binding-grace)",
			s.work.Name, s.work.Namespace, t.Why, e.facts.Settings.BindingGrace)})
	}
	return found
}

// waiting warns about former works that stay until an agent has applied their ending, although the
// desired delivery is written.
func (e *evaluation) waiting() (found []policy.Message) {
	var long []*subject
	for _, s := range e.subjects {
		if !s.waitsForCluster() {
			continue
		}
		if quiet := waitQuiet - e.facts.Now.Sub(earlier(s.work.Waiting, e.facts.Now)); quiet > 0 {
			e.plan.again(quiet)
			continue
		}
		long = append(long, s)
	}
	if len(long) > 0 {
		found = append(found, e.pending(long).Refusal)
	}
	return found
}

// waitsForCluster reports whether the removal of a proven work waits for its cluster alone.
func (s *subject) waitsForCluster() bool {
	t := s.fate
	return t.Own && t.Act == End && !s.shared && !s.isHeld() && t.Next != StepDelete
}

// pending is the report of works whose removal waits for their clusters.
func (e *evaluation) pending(works []*subject) *policy.Decision {
	places, text := make([]string, 0, len(works)), ""
	for _, s := range works {
		places, text = append(places, s.place()), cmp.Or(text, s.fate.Wait.Text)
	}
	v := policy.RefuseAsWarning(policy.ReasonOrphanPending,
		"not withdrawn yet: waiting for %s to apply how it ends (finalizers, annotation %s); if the cluster will not come back, %s",
		strings.Join(places, ", "), contract.DeletionPolicyAnnotation, e.ifLost())
	if text != "" {
		v.Refusal.Text += fmt.Sprintf("; it reports: %.300s", text)
	}
	return v
}

// unfinished is the report of proven works that are not removed yet, because the removal waits for
// an agent or is paused. It returns v if the budget holds a removal, because the budget adds its
// own report. It returns nil if all removals have finished.
func (e *evaluation) unfinished(v *policy.Decision) *policy.Decision {
	var pending []*subject
	var pause policy.Pause
	problem, held := "", false
	for _, s := range e.subjects {
		t := s.fate
		switch {
		case !t.Own || t.Act != End || s.shared:
		case t.Delayed.Pause.Mode != "":
			pause = policy.StrongestPause(pause, t.Delayed.Pause)
		case t.Delayed.Problem != "":
			problem = cmp.Or(problem, t.Delayed.Problem)
		case s.waitsForCluster():
			pending = append(pending, s)
		case s.isHeld():
			held = true
		}
	}
	switch {
	case problem != "":
		return policy.Refuse(policy.ReasonInvalidTarget, "nothing is withdrawn: %s", problem)
	case len(pending) > 0:
		return e.pending(pending)
	case pause.Mode != "":
		u := pause.Decision("its withdrawal waits until then")
		return &u
	case held:
		return v
	}
	return nil
}

// ifLost returns the remedy for a cluster that is permanently lost.
func (e *evaluation) ifLost() string {
	if e.facts.Application.DeletionTimestamp == nil {
		return "delete its ManagedCluster"
	}
	return fmt.Sprintf("add %s to the annotation of this Application, after a comma if it has a value", payload.DeletionAbandon)
}

// proof is the report of a deleted Application if its clusters have not confirmed the removal.
func (e *evaluation) proof() *policy.Decision {
	var left []string
	for _, s := range e.subjects {
		if s.fate.Own && s.work.Cluster.Exists {
			left = append(left, s.place())
		}
	}
	if len(left) == 0 {
		return nil
	}
	return policy.RefuseAsWarning(policy.ReasonDeleting,
		"not deleted yet: waiting for %s to confirm that nothing of it is left; if the cluster will not come back, set annotation %s to %s to delete the Application all the same; "+
			"if an ApplicationSet still generates it, set that in its template",
		strings.Join(left, ", "), contract.DeletionPolicyAnnotation, payload.DeletionAbandon)
}

// place names a work in a message.
func (s *subject) place() string {
	return fmt.Sprintf("cluster %q (ManifestWork %s)", s.work.Namespace, s.work.Name)
}
