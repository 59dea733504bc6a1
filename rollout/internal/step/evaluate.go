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

// evaluate brings the state of a cluster up to date.
func (p *pass) evaluate(e *rollout.Cluster) {
	c := p.cluster(e.Name)
	switch {
	case given(e.State):
		following := p.follows(e.Name)
		if following && p.closed() && !slices.Equal(e.Revisions, p.s.Candidate.Revisions) && p.soaked(e) {
			return // it is done with this candidate, and at the next one
		}
		v, message := p.verdict(e, c, following)
		transition(e, v, message, &p.timer)
		if v == good && following && len(p.s.Candidate.Revisions) == 0 {
			p.s.Candidate.Revisions = c.revisions()
		}
	case e.State == rollout.StatePending && c.Available, e.State == rollout.StateUnavailable && c.Available:
		e.State = rollout.StateSuperseded // it is its turn again, and it has something that was not promoted
	case e.State == rollout.StatePending && p.late(e):
		e.State, e.Message = rollout.StateUnavailable, "not available for "+p.deadline.String()
	}
}

// transition gives a cluster the state that follows from a verdict.
func transition(e *rollout.Cluster, v verdict, message string, t *timer) {
	was := e.State
	switch {
	case v == bad && was == rollout.StateTimedOut:
		e.Message = message
	case v == bad:
		e.State, e.Message = rollout.StateFailed, message
	case v == good:
		e.State, e.Message = rollout.StateSucceeded, ""
	case was == rollout.StateSucceeded && !t.soaked(e):
		e.State = rollout.StateProgressing
	}
	if e.State != was {
		// The status has whole seconds: those that have begun would make a success last less.
		e.Since = metav1.NewTime(t.now.Add(time.Second - 1).Truncate(time.Second))
	}
	if e.State == rollout.StateProgressing && t.late(e) {
		e.State, e.Message = rollout.StateTimedOut, "not healthy and synced within "+t.deadline.String()
	}
	if e.State == rollout.StateSucceeded && !t.soaked(e) {
		t.wake(e.Since.Add(t.soak))
	}
}

// verdict returns what the feedback of a cluster amounts to.
func (p *pass) verdict(e *rollout.Cluster, c *Cluster, following bool) (v verdict, message string) {
	pinned := p.s.Candidate.Revisions
	if following {
		pinned = nil
	}
	switch {
	case !applied(e, c, pinned):
		return undecided, ""
	case e.Compared == "" && p.proves(e, following):
		e.Compared = c.compared()
		return undecided, ""
	}
	v = good
	for i := range c.Apps {
		a := &c.Apps[i]
		switch p.ofApplication(e, a, following) {
		case bad:
			return bad, a.Name + ": " + cmp.Or(a.Message, a.Phase+" "+a.Health)
		case undecided:
			v = undecided
		case good:
		}
	}
	return v, ""
}

// applied: the cluster has applied what it was given, all of it.
func applied(e *rollout.Cluster, c *Cluster, pinned []string) bool {
	return slices.Equal(c.carried(), e.Contents) && !slices.ContainsFunc(c.Apps, func(a App) bool {
		return !a.HasWork || !a.Applied || !slices.Equal(a.Carried.Revisions, pinned)
	})
}

// proves: only a later comparison shows that the feedback is about what was given. Another
// revision shows it by itself.
func (p *pass) proves(e *rollout.Cluster, following bool) bool {
	if following && p.s.Promoted != nil && !p.s.Candidate.Content && len(p.s.Candidate.Revisions) == 0 {
		return true // it was taken back, and may report what was there before
	}
	moved := !following && (p.s.Promoted == nil || !slices.Equal(p.s.Candidate.Revisions, p.s.Promoted.Revisions))
	return !slices.Equal(e.From, e.Contents) && !moved
}

// proven: an Application's feedback is about what its cluster was given.
func (p *pass) proven(e *rollout.Cluster, a *App, following bool) bool {
	return !p.proves(e, following) || e.Compared != "" && a.Compared > e.Compared
}

// ofApplication returns what an Application's feedback, which must be about the candidate,
// amounts to.
func (p *pass) ofApplication(e *rollout.Cluster, a *App, following bool) verdict {
	if a.Refused {
		return bad
	}
	// Until others have it the candidate is what the branch has.
	candidate := p.s.Candidate.Revisions
	current := slices.Equal(a.Revisions, candidate) || following && (p.closed() || len(candidate) == 0)
	if !a.Known || !current || !p.proven(e, a, following) {
		return undecided // it is of another revision, or older than the delivery
	}
	return outcome(e, a)
}

// outcome returns what feedback amounts to that is about the candidate.
func outcome(e *rollout.Cluster, a *App) verdict {
	failed := a.Phase == argocd.OperationFailed || a.Phase == argocd.OperationError
	stale := failed && !concerns(e, a)
	switch {
	case a.Health == argocd.HealthDegraded && a.Sync == argocd.SyncSynced || failed && !stale:
		return bad // what is degraded and not synced is what was there before
	case a.healthy() || stale && a.inSync(): // what the cluster has already needs no other operation
		return good
	}
	return undecided
}

// concerns reports whether an Application's last operation is of what the cluster was given: by
// the revision that it synced, as far as that is known, and not the one from before.
func concerns(e *rollout.Cluster, a *App) bool {
	if len(a.OperationRevisions) > 0 && !slices.Equal(a.OperationRevisions, a.Revisions) {
		return false
	}
	return e.Operation == "" || a.Began != e.Operation
}

// Unpinned returns the clusters, sorted, that still follow the branch although it is not theirs to
// try: their works do not say otherwise yet or, unless applied is known, they have not applied that.
func Unpinned(clusters map[string]Cluster, s *rollout.Status, applied bool) []string {
	var names []string
	for name, c := range clusters {
		_, following := slices.BinarySearch(s.Following, name)
		if !following && slices.ContainsFunc(c.Apps, func(a App) bool {
			return a.HasWork && (len(a.Carried.Revisions) == 0 || !applied && !a.Applied)
		}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
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
		default:
		}
		if e.State == rollout.StateProgressing || e.State == rollout.StatePending || e.State == rollout.StateSucceeded && !p.soaked(e) {
			p.s.Group = groupOf(p.Groups, e.Name)
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
		p.s.Message += "; failed: " + Few(failed)
	}
	if len(waiting) > 0 {
		p.s.Message += "; waiting for " + Few(waiting)
	}
}

func groupOf(groups []Group, cluster string) string {
	for i, g := range groups {
		if slices.Contains(g.Clusters, cluster) {
			return cmp.Or(g.Name, fmt.Sprint(i))
		}
	}
	return ""
}

// Few returns the first names of a list, and how many more there are.
func Few(names []string) string {
	if len(names) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}
