// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ocm "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// pass is one evaluation of a rollout.
type pass struct {
	Input
	timer
	s *rollout.Status
}

// Next returns the status that follows, and when to look again, 0 for not by the clock.
func Next(in Input) (rollout.Status, time.Duration, error) {
	p := &pass{Input: in, s: in.Status.DeepCopy(), timer: timer{now: in.Now, deadline: deadline(&in.Spec.Strategy), soak: config(&in.Spec.Strategy).MinSuccessTime.Duration}}
	p.Groups = groupsOf(in.Groups, in.Clusters)
	p.s.Clusters = slices.DeleteFunc(p.s.Clusters, func(e rollout.Cluster) bool { return p.cluster(e.Name) == nil })
	if p.s.Phase == "" {
		p.s.Phase = rollout.Idle
	}
	members(p.s, p.Clusters, p.anyDiffers())
	if err := p.follow(); err != nil {
		return in.Status, 0, err
	}
	if err := p.run(); err != nil {
		return in.Status, 0, err
	}
	if c := p.s.Candidate; c != nil && p.s.Promoted != nil && !c.Content && !p.anyDiffers() {
		p.join()
	}
	p.describe()
	return *p.s, p.again, nil
}

func (p *pass) run() error {
	if len(p.Clusters) == 0 { // the ApplicationSet is gone, and with it what could show that the candidate is good
		if p.s.Candidate != nil && p.s.Promoted != nil {
			p.s.Promoted.Number = p.s.Candidate.Number // which is not used again
		}
		p.s.Phase, p.s.Candidate = rollout.Idle, nil
		return nil
	}
	p.obey()
	if p.s.Promoted == nil && p.adopt() {
		return nil
	}
	switch p.s.Phase {
	case rollout.RollingBack, rollout.RolledBack:
		if !p.contentMoved() {
			p.restore()
			return nil
		}
		p.begin(true, nil)
	case rollout.Progressing, rollout.Halted:
		p.observe()
	default:
		p.rest()
	}
	if p.s.Phase == rollout.Progressing || p.s.Phase == rollout.Halted {
		return p.progress()
	}
	return nil
}

// members notes which Applications the clusters with entries have: one that is gone is not waited
// for, and one that has come gets the revision that those beside it have, unless other content is
// on its way.
func members(s *rollout.Status, clusters map[string]Cluster, differs bool) {
	onlyRevision := s.Candidate != nil && !s.Candidate.Content && !differs
	for i := range s.Clusters {
		e := &s.Clusters[i]
		c := clusters[e.Name]
		want := c.want()
		switch {
		case e.State == rollout.StateJoining || len(e.Contents) == 0:
		case onlyRevision && slices.Equal(e.Contents, e.From):
			e.Contents, e.From = want, want
		case len(want) < len(e.Contents) && !slices.ContainsFunc(want, func(content string) bool { return !slices.Contains(e.Contents, content) }):
			e.Contents = want
		}
	}
}

// groupsOf returns the groups with the clusters that there are Applications for, each once, and
// those that no group has in one more.
func groupsOf(groups []Group, clusters map[string]Cluster) []Group {
	seen, all := map[string]bool{}, make([]Group, 0, len(groups)+1)
	for _, g := range groups {
		kept := Group{Name: g.Name}
		for _, c := range g.Clusters {
			if _, there := clusters[c]; there && !seen[c] {
				seen[c], kept.Clusters = true, append(kept.Clusters, c)
			}
		}
		slices.Sort(kept.Clusters)
		all = append(all, kept)
	}
	var rest []string
	for name := range clusters {
		if !seen[name] {
			rest = append(rest, name)
		}
	}
	if len(rest) > 0 {
		slices.Sort(rest)
		all = append(all, Group{Clusters: rest})
	}
	return all
}

// follow says which clusters follow the branch: those that begin. It does not change while
// something is rolled out.
func (p *pass) follow() error {
	if p.s.Phase != rollout.Idle && slices.ContainsFunc(p.s.Following, func(name string) bool { return p.cluster(name) != nil }) {
		return nil
	}
	first, err := choose(&p.Spec, p.Groups, nil)
	p.s.Following = first.start
	return err
}

func (p *pass) follows(name string) bool {
	_, there := slices.BinarySearch(p.s.Following, name)
	return there
}

// obey does what an operator has said about the candidate.
func (p *pass) obey() {
	if p.s.Candidate == nil {
		return
	}
	number, phase := p.s.Candidate.Number, p.s.Phase
	switch {
	case p.Aborted == number && p.s.Promoted != nil && (phase == rollout.Progressing || phase == rollout.Halted):
		p.s.Phase = rollout.RollingBack
	case p.Approved == number && phase == rollout.Halted:
		p.s.Phase = rollout.Progressing
	case p.Approved == number && phase == rollout.RolledBack:
		p.begin(p.anyDiffers(), nil)
	}
}

// adopt takes for promoted what every cluster runs already.
func (p *pass) adopt() bool {
	var all []string
	for _, c := range p.Clusters {
		if !c.Available {
			continue
		}
		r := c.revisions()
		if c.isNew() || c.differs() || r == nil || all != nil && !slices.Equal(all, r) ||
			slices.ContainsFunc(c.Apps, func(a App) bool { return !a.healthy() }) {
			return false
		}
		all = r
	}
	if all == nil {
		return false
	}
	p.s.Promoted = &rollout.Version{Number: 1, Revisions: all, Time: metav1.NewTime(p.Now)}
	p.s.Phase, p.s.Candidate, p.s.Clusters = rollout.Idle, nil, nil
	return true
}

// anyDiffers: a cluster is delivered something else than the hub says, and not on its way to it.
func (p *pass) anyDiffers() bool {
	for name, c := range p.Clusters {
		if e := p.s.Find(name); c.differs() && (e == nil || e.State != rollout.StateJoining || !slices.Equal(e.Contents, c.want())) {
			return true
		}
	}
	return false
}

// rest is what is done while nothing is rolled out.
func (p *pass) rest() {
	p.s.Clusters = slices.DeleteFunc(p.s.Clusters, func(e rollout.Cluster) bool {
		c := p.cluster(e.Name)
		return !c.isNew() && !c.differs() || !slices.Equal(e.Contents, c.want())
	})
	differs := p.anyDiffers()
	if p.s.Promoted == nil {
		p.first(differs)
		return
	}
	if differs {
		p.begin(true, nil)
		return
	}
	for _, name := range p.s.Following {
		if r := p.cluster(name).revisions(); r != nil && !slices.Equal(r, p.s.Promoted.Revisions) {
			p.begin(false, r)
			return
		}
	}
	p.join()
}

// first begins the first rollout of a set, when what works carry is known.
func (p *pass) first(differs bool) {
	for _, c := range p.Clusters {
		if slices.ContainsFunc(c.Apps, func(a App) bool { return a.HasWork && a.Carried.Content == "" }) {
			return
		}
	}
	if len(p.Clusters) > 0 {
		p.begin(differs || slices.ContainsFunc(p.s.Following, func(name string) bool { return p.cluster(name).isNew() }), nil)
	}
}

// join lets new clusters have what is promoted. That is known of them only while no other
// content is on its way.
func (p *pass) join() {
	p.s.Clusters = slices.DeleteFunc(p.s.Clusters, func(e rollout.Cluster) bool {
		c := p.cluster(e.Name)
		return e.State == rollout.StateJoining && (!c.isNew() && !c.differs() || !slices.Equal(e.Contents, c.want()))
	})
	for name, c := range p.Clusters {
		if c.isNew() && p.s.Find(name) == nil {
			set(p.s, rollout.Cluster{Name: name, State: rollout.StateJoining, Since: metav1.NewTime(p.Now), Contents: c.want()})
		}
	}
}

// begin makes another candidate. What was given an earlier one and was not promoted keeps
// it until its turn comes, and what it had before.
func (p *pass) begin(content bool, revisions []string) {
	v := &rollout.Version{Number: 1, Revisions: revisions, Content: content, Time: metav1.NewTime(p.Now)}
	if p.s.Promoted != nil {
		v.Number = p.s.Promoted.Number + 1
	}
	if old := p.s.Candidate; old != nil {
		v.Number = max(v.Number, old.Number+1)
		v.Content = v.Content || old.Content && p.anyDiffers()
	}
	p.s.Candidate, p.s.Phase = v, rollout.Progressing
	p.s.Clusters = slices.DeleteFunc(p.s.Clusters, func(e rollout.Cluster) bool {
		return !given(e.State) && (len(e.From) == 0 || e.State == rollout.StateRestored) && (e.State != rollout.StateJoining || v.Content)
	})
	for i := range p.s.Clusters {
		if e := &p.s.Clusters[i]; e.State != rollout.StateJoining {
			e.State = rollout.StateSuperseded
		}
	}
}

// given: a cluster in that state was given the candidate.
func given(s rollout.State) bool {
	switch s {
	case rollout.StateProgressing, rollout.StateSucceeded, rollout.StateFailed, rollout.StateTimedOut:
		return true
	default:
		return false
	}
}

// set replaces or adds an entry.
func set(s *rollout.Status, e rollout.Cluster) {
	i, there := slices.BinarySearchFunc(s.Clusters, e.Name, func(c rollout.Cluster, name string) int { return strings.Compare(c.Name, name) })
	if there {
		s.Clusters[i] = e
		return
	}
	s.Clusters = slices.Insert(s.Clusters, i, e)
}

// start gives a cluster the candidate, or notes that it is its turn while it is away.
func (p *pass) start(name string) {
	c, now := p.cluster(name), metav1.NewTime(p.Now)
	e := rollout.Cluster{Name: name, State: rollout.StateProgressing, Since: now, Contents: c.want(), From: c.carried()}
	old := p.s.Find(name)
	if old != nil && len(old.From) > 0 {
		e.From = old.From
		if len(c.Apps) > len(e.From) { // an Application has joined since, which had nothing
			e.From = append([]string{""}, e.From...)
		}
	}
	e.Operation = c.began()
	switch {
	case !c.Available:
		e = rollout.Cluster{Name: name, State: rollout.StatePending, Since: now}
		if old != nil {
			e.Contents, e.From = old.Contents, old.From // what it was given before
		}
	case p.follows(name):
		e.Revisions = c.revisions()
		if e.Revisions != nil && slices.Equal(e.Revisions, p.s.Candidate.Revisions) {
			e.Operation = "" // it may be of the candidate, which is how that was found
		}
	case len(p.s.Candidate.Revisions) == 0:
		return // no cluster has reported a revision to promote yet
	}
	set(p.s, e)
}

// contentMoved: the hub says something else than what was given.
func (p *pass) contentMoved() bool {
	return slices.ContainsFunc(p.s.Clusters, func(e rollout.Cluster) bool {
		return (given(e.State) || e.State == rollout.StateRestored) && !slices.Equal(e.Contents, p.cluster(e.Name).want())
	})
}

// closed: clusters that do not follow the branch have the candidate, so its revision is fixed.
func (p *pass) closed() bool {
	return slices.ContainsFunc(p.s.Clusters, func(e rollout.Cluster) bool { return given(e.State) && !p.follows(e.Name) })
}

// observe notes what of a candidate has changed while it is rolled out, and begins again
// with another one.
func (p *pass) observe() {
	if p.contentMoved() {
		p.begin(true, nil)
		return
	}
	fixed := p.closed() && p.s.Phase == rollout.Progressing
	for i := range p.s.Clusters {
		e := &p.s.Clusters[i]
		if !given(e.State) || !p.follows(e.Name) {
			continue
		}
		c := p.cluster(e.Name)
		r := c.revisions()
		if r == nil || slices.Equal(r, e.Revisions) || slices.ContainsFunc(c.Apps, func(a App) bool { return !p.proven(e, &a, true) }) {
			continue
		}
		e.Revisions = r
		switch {
		case fixed:
		case len(p.s.Candidate.Revisions) == 0:
			p.s.Candidate.Revisions = r
		case !slices.Equal(r, p.s.Candidate.Revisions):
			p.begin(false, r)
			return
		}
	}
}

// states returns what OCM's library is told of the clusters.
func (p *pass) states() map[string]ocm.RolloutStatus {
	approved := p.Approved == p.s.Candidate.Number
	all := map[string]ocm.RolloutStatus{}
	for i := range p.s.Clusters {
		e := &p.s.Clusters[i]
		switch e.State {
		case rollout.StatePending, rollout.StateProgressing:
			all[e.Name] = ocm.Progressing
		case rollout.StateSucceeded:
			all[e.Name] = ocm.Progressing
			if p.soaked(e) {
				all[e.Name] = ocm.Succeeded
			}
		case rollout.StateFailed:
			all[e.Name] = ocm.Failed
		case rollout.StateTimedOut, rollout.StateUnavailable:
			all[e.Name] = ocm.TimeOut
		default:
			continue
		}
		if approved && (all[e.Name] == ocm.Failed || all[e.Name] == ocm.TimeOut) {
			all[e.Name] = ocm.Skip
		}
	}
	return all
}

// progress evaluates the clusters that have the candidate, and goes on, stops or ends.
func (p *pass) progress() error {
	p.s.Clusters = slices.DeleteFunc(p.s.Clusters, func(e rollout.Cluster) bool {
		waits := e.State == rollout.StatePending || e.State == rollout.StateUnavailable
		return waits && len(e.From) == 0 && p.cluster(e.Name).Available // it is its turn again
	})
	for i := range p.s.Clusters {
		p.evaluate(&p.s.Clusters[i])
	}
	if p.s.Phase == rollout.Halted {
		return nil
	}
	next, err := choose(&p.Spec, p.Groups, p.states())
	if err != nil {
		return err
	}
	if next.breach {
		p.fail()
		return nil
	}
	for _, name := range next.start {
		p.start(name)
	}
	if len(next.start) == 0 && !p.underway(p.s.Clusters) && len(p.s.Candidate.Revisions) > 0 {
		p.promote()
	}
	return nil
}

func (p *pass) fail() {
	p.s.Phase = rollout.Halted
	if p.Spec.OnFailure == rollout.Rollback && p.s.Promoted != nil {
		p.s.Phase = rollout.RollingBack
		p.restore()
	}
}

// underway: a cluster has the candidate, and what becomes of it is not known yet.
func (t *timer) underway(clusters []rollout.Cluster) bool {
	return slices.ContainsFunc(clusters, func(e rollout.Cluster) bool {
		return e.State == rollout.StateProgressing || e.State == rollout.StatePending || e.State == rollout.StateSucceeded && !t.soaked(&e)
	})
}

// promote ends a rollout: what was the candidate is what every cluster may have.
func (p *pass) promote() {
	v := *p.s.Candidate
	v.Time, v.Content = metav1.NewTime(p.Now), false
	before := rollout.Status{Clusters: p.s.Clusters}
	p.s.Promoted, p.s.Candidate, p.s.Phase, p.s.Clusters = &v, nil, rollout.Idle, nil
	for name, c := range p.Clusters {
		if e := before.Find(name); (e == nil || !given(e.State)) && (c.isNew() || c.differs()) {
			set(p.s, rollout.Cluster{Name: name, State: rollout.StateJoining, Since: metav1.NewTime(p.Now), Contents: c.want()})
		}
	}
	p.again = time.Millisecond // a cluster that follows the branch may have gone on
}

// restore notes which clusters have what is promoted again.
func (p *pass) restore() {
	done := true
	p.s.Clusters = slices.DeleteFunc(p.s.Clusters, func(e rollout.Cluster) bool {
		return !given(e.State) && len(e.From) == 0 && e.State != rollout.StateJoining
	})
	for i := range p.s.Clusters {
		e := &p.s.Clusters[i]
		if e.State == rollout.StateRestored || e.State == rollout.StateJoining {
			continue
		}
		c := p.cluster(e.Name)
		fresh := slices.Contains(e.From, "") // it was new: there is nothing that it had
		has := !slices.ContainsFunc(c.Apps, func(a App) bool {
			return !slices.Contains(e.From, a.Carried.Content) || !slices.Equal(a.Carried.Revisions, p.s.Promoted.Revisions)
		})
		if !fresh && !has {
			done = false
			continue
		}
		if fresh {
			e.Message = "was new: keeps the candidate, since nothing was promoted to it before"
		}
		e.State, e.Since = rollout.StateRestored, metav1.NewTime(p.Now)
	}
	if done {
		p.s.Phase = rollout.RolledBack
	}
}
