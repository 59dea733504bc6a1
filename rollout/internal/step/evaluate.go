// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// verdict is what an Application's feedback says about the candidate.
type verdict int

const (
	undecided verdict = iota
	good
	bad
)

// evaluate brings the state of a cluster that has the candidate up to date.
func (p *pass) evaluate(e *rollout.Cluster, c *Cluster) {
	following := p.follows(e.Name)
	if following && p.closed() && !slices.Equal(e.Revisions, p.s.Candidate.Revisions) && p.soaked(e) {
		return // it is done with this candidate, and at the next one
	}
	was, v, message := e.State, good, ""
	switch {
	case !p.applied(e, c, following):
		v = undecided
	case e.Compared == "" && p.proves(e, following):
		e.Compared, v = c.compared(), undecided
	default:
		for i := range c.Apps {
			switch is := p.judge(e, &c.Apps[i], following); {
			case is == bad:
				v, message = bad, c.Apps[i].Name+": "+cmp.Or(c.Apps[i].Message, c.Apps[i].Phase+" "+c.Apps[i].Health)
			case is == undecided && v == good:
				v = undecided
			}
		}
	}
	switch {
	case v == bad:
		e.State, e.Message = rollout.StateFailed, message
	case v == good:
		e.State, e.Message = rollout.StateSucceeded, ""
		if len(p.s.Candidate.Revisions) == 0 && following {
			p.s.Candidate.Revisions = c.revisions()
		}
	case was == rollout.StateSucceeded && !p.soaked(e):
		e.State = rollout.StateProgressing
	}
	if e.State != was && !(was == rollout.StateTimedOut && e.State == rollout.StateFailed) {
		e.Since = metav1.NewTime(p.Now)
	}
	switch e.State {
	case rollout.StateProgressing:
		if p.late(e) {
			e.State, e.Message = rollout.StateTimedOut, "not healthy and synced within "+p.deadline.String()
		}
	case rollout.StateSucceeded:
		if !p.soaked(e) {
			p.wake(e.Since.Add(p.soak))
		}
	}
}

// applied: the cluster has applied what it was given, all of it.
func (p *pass) applied(e *rollout.Cluster, c *Cluster, following bool) bool {
	pinned := p.s.Candidate.Revisions
	if following {
		pinned = nil
	}
	return slices.Equal(c.carried(), e.Contents) && !slices.ContainsFunc(c.Apps, func(a App) bool {
		return !a.HasWork || !a.Applied || !slices.Equal(a.Carried.Revisions, pinned)
	})
}

// proves: only a later comparison shows that the feedback is about what was given. Another
// revision shows it by itself.
func (p *pass) proves(e *rollout.Cluster, following bool) bool {
	moved := !following && (p.s.Promoted == nil || !slices.Equal(p.s.Candidate.Revisions, p.s.Promoted.Revisions))
	return !slices.Equal(e.From, e.Contents) && !moved
}

// judge says what an Application's feedback, which must be about the candidate, amounts to.
func (p *pass) judge(e *rollout.Cluster, a *App, following bool) verdict {
	if a.Refused {
		return bad
	}
	candidate := p.s.Candidate.Revisions
	if !a.Known || !following && !slices.Equal(a.Revisions, candidate) ||
		following && !p.closed() && len(candidate) > 0 && !slices.Equal(a.Revisions, candidate) {
		return undecided
	}
	if p.proves(e, following) && a.Compared <= e.Compared {
		return undecided // the feedback is older than the delivery
	}
	failed := (a.Phase == argocd.OperationFailed || a.Phase == argocd.OperationError) && (following || a.Began != e.Operation)
	switch {
	case a.Health == argocd.HealthDegraded || failed:
		return bad
	case a.healthy():
		return good
	}
	return undecided
}

// soaked: a cluster has been good for long enough.
func (p *pass) soaked(e *rollout.Cluster) bool {
	return e.State == rollout.StateSucceeded && !p.Now.Before(e.Since.Add(p.soak))
}

// late: a cluster has taken longer than it may.
func (p *pass) late(e *rollout.Cluster) bool {
	if p.deadline == 0 {
		return false
	}
	end := e.Since.Add(p.deadline)
	if p.Now.Before(end) {
		p.wake(end)
		return false
	}
	return true
}

// wake has a look taken at a time.
func (p *pass) wake(at time.Time) {
	if left := max(at.Sub(p.Now), time.Millisecond); p.again == 0 || left < p.again {
		p.again = left
	}
}

// describe writes counts, group and message.
func (p *pass) describe() {
	p.s.Counts, p.s.Group = rollout.Counts{Total: len(p.Clusters)}, ""
	var failed, waiting []string
	for i := range p.s.Clusters {
		e := &p.s.Clusters[i]
		if given(e.State) || e.State == rollout.StateRestored {
			p.s.Counts.Started++
		}
		switch e.State {
		case rollout.StateSucceeded:
			p.s.Counts.Succeeded++
		case rollout.StateFailed, rollout.StateTimedOut, rollout.StateUnavailable:
			p.s.Counts.Failed++
			failed = append(failed, e.Name)
		case rollout.StatePending, rollout.StateProgressing:
			waiting = append(waiting, e.Name)
		}
		if e.State == rollout.StateProgressing || e.State == rollout.StatePending || e.State == rollout.StateSucceeded && !p.soaked(e) {
			p.s.Group = p.groupOf(e.Name)
		}
	}
	number := int64(0)
	if p.s.Candidate != nil {
		number = p.s.Candidate.Number
	}
	p.s.Message = map[rollout.Phase]string{
		rollout.Idle:        "nothing is rolled out",
		rollout.Progressing: fmt.Sprintf("candidate %d: %d of %d clusters have it", number, p.s.Counts.Started, p.s.Counts.Total),
		rollout.Halted:      fmt.Sprintf("candidate %d is halted: approve %d goes on, abort %d goes back", number, number, number),
		rollout.RollingBack: fmt.Sprintf("candidate %d is taken back", number),
		rollout.RolledBack:  fmt.Sprintf("candidate %d was taken back, and no cluster follows the branch: approve %d tries again", number, number),
	}[p.s.Phase]
	if len(failed) > 0 {
		p.s.Message += "; failed: " + few(failed)
	}
	if len(waiting) > 0 {
		p.s.Message += "; waiting for " + few(waiting)
	}
}

func (p *pass) groupOf(cluster string) string {
	for i, g := range p.Groups {
		if slices.Contains(g.Clusters, cluster) {
			return cmp.Or(g.Name, fmt.Sprint(i))
		}
	}
	return ""
}

func few(names []string) string {
	if len(names) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}
