// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// fleet is a simulated hub with its clusters: delivery writes what grants allow, agents
// apply, and Argo CD compares and syncs.
type fleet struct {
	t         testing.TB
	r         *rand.Rand
	now       time.Time
	spec      rollout.Spec
	status    rollout.Status
	groups    []Group
	clusters  map[string]*sim
	branch    string
	want      string
	quality   map[string]string // of a content or revision: "", "bad", "late"
	approved  int64
	aborted   int64
	commits   int
	writes    int
	promotedC map[string]bool // contents that were ever promoted, or there at first
}

// sim is one cluster.
type sim struct {
	name             string
	available        bool
	hasWork          bool
	work             rollout.Carried // what the hub's work carries
	noted            string          // the promoted content, noted on the work
	notedNumber      int64
	applied          rollout.Carried // what the agent has applied
	compared         rollout.Carried // what Argo CD has compared, revisions resolved
	began, at        time.Time
	phase, sync, hlt string
	everCompared     map[string]bool
}

func newFleet(t testing.TB, r *rand.Rand, spec rollout.Spec, sizes ...int) *fleet {
	f := &fleet{t: t, r: r, now: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), spec: spec, clusters: map[string]*sim{}, branch: "r0", want: "c0", quality: map[string]string{}, promotedC: map[string]bool{"c0": true}}
	n := 0
	for i, size := range sizes {
		g := Group{Name: fmt.Sprint("g", i)}
		for range size {
			name := fmt.Sprintf("c%03d", n)
			n++
			g.Clusters = append(g.Clusters, name)
			c := &sim{name: name, available: true, hasWork: true, work: rollout.Carried{Content: "c0"}, everCompared: map[string]bool{}}
			c.applied = c.work
			f.clusters[name] = c
			f.compare(c)
			f.settle(c)
		}
		f.groups = append(f.groups, g)
	}
	return f
}

func (f *fleet) input() Input {
	in := Input{Spec: f.spec, Status: f.status, Groups: f.groups, Clusters: map[string]Cluster{}, Approved: f.approved, Aborted: f.aborted, Now: f.now}
	for name, c := range f.clusters {
		a := App{Name: "app-" + name, Want: f.want, HasWork: c.hasWork, Carried: c.work}
		a.Applied = c.available && c.hasWork && same(c.work, c.applied)
		a.Known = a.Applied && c.sync != ""
		a.Health, a.Sync, a.Phase, a.Compared = c.hlt, c.sync, c.phase, c.at.Format(time.RFC3339)
		if !c.began.IsZero() {
			a.Began = c.began.Format(time.RFC3339)
		}
		if len(c.compared.Revisions) > 0 {
			a.Revisions = slices.Clone(c.compared.Revisions)
		}
		in.Clusters[name] = Cluster{Available: c.available, Apps: []App{a}}
	}
	return in
}

func same(a, b rollout.Carried) bool { return a.String() == b.String() }

// step has the controller take one step; the status goes through JSON as on the API server.
func (f *fleet) step() time.Duration {
	f.t.Helper()
	before := f.status
	next, again, err := Next(f.input())
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := json.Marshal(next)
	if err != nil {
		f.t.Fatal(err)
	}
	f.status = rollout.Status{}
	if err := json.Unmarshal(raw, &f.status); err != nil {
		f.t.Fatal(err)
	}
	f.check(&before, &next)
	return again
}

// deliver writes the work of a cluster, as propagation does.
func (f *fleet) deliver(c *sim) {
	g := f.status.Grant(c.name)
	was := c.work
	next := was
	switch g.Allow {
	case rollout.AllowAll:
		next = rollout.Carried{Content: f.want}
	case rollout.AllowHub, rollout.AllowJoin:
		if slices.Contains(g.Contents, f.want) {
			next = rollout.Carried{Content: f.want, Revisions: g.Revisions}
		}
	case rollout.AllowCarried:
		if c.hasWork && was.Content == f.want {
			next.Revisions = g.Revisions
		}
	case rollout.AllowPromoted:
		switch {
		case !c.hasWork:
		case slices.Contains(g.Contents, f.want):
			next = rollout.Carried{Content: f.want, Revisions: g.Revisions}
		case slices.Contains(g.Contents, was.Content):
			next.Revisions = g.Revisions
		case c.notedNumber == g.Number && g.Number != 0:
			next = rollout.Carried{Content: c.noted, Revisions: g.Revisions}
		}
	default:
	}
	if same(was, next) && c.hasWork || next.Content == "" {
		return
	}
	if c.hasWork && next.Content != was.Content && g.Allow == rollout.AllowHub && c.notedNumber != g.Number {
		c.noted, c.notedNumber = was.Content, g.Number
	}
	c.work, c.hasWork = next, true
	f.writes++
}

// apply has the agent apply the work.
func (f *fleet) apply(c *sim) {
	if c.available && c.hasWork {
		c.applied = c.work
	}
}

// compare has Argo CD compare what is applied with git.
func (f *fleet) compare(c *sim) {
	if !c.available || c.applied.Content == "" {
		return
	}
	next := rollout.Carried{Content: c.applied.Content, Revisions: c.applied.Revisions}
	if len(next.Revisions) == 0 {
		next.Revisions = []string{f.branch}
	}
	f.now = f.now.Add(time.Second)
	c.at = f.now
	if same(next, c.compared) {
		return
	}
	c.compared = next
	c.everCompared[next.Revisions[0]], c.everCompared[next.Content] = true, true
	c.sync, c.hlt, c.phase, c.began = argocd.SyncOutOfSync, cmp.Or(c.hlt, argocd.HealthHealthy), argocd.OperationRunning, f.now
}

// settle ends the sync of a cluster, well or badly.
func (f *fleet) settle(c *sim) {
	if !c.available || c.sync == "" {
		return
	}
	switch q := f.quality[c.compared.Revisions[0]] + f.quality[c.compared.Content]; {
	case q == "":
		c.sync, c.hlt, c.phase = argocd.SyncSynced, argocd.HealthHealthy, argocd.OperationSucceeded
	case q[0] == 's': // cannot sync
		c.phase = argocd.OperationFailed
	case q[0] == 'd': // degrades
		c.sync, c.hlt, c.phase = argocd.SyncSynced, argocd.HealthDegraded, argocd.OperationSucceeded
	case q[0] == 'p': // never healthy
		c.sync, c.hlt, c.phase = argocd.SyncSynced, argocd.HealthProgressing, argocd.OperationSucceeded
	}
}

// check holds what must be true of every step.
func (f *fleet) check(before, after *rollout.Status) {
	f.t.Helper()
	raw, _ := json.Marshal(before)
	fail := func(format string, args ...any) {
		now, _ := json.MarshalIndent(after, "", " ")
		f.t.Fatalf(format+"\nbefore %s\nafter %s", append(args, raw, now)...)
	}
	if !slices.IsSortedFunc(after.Clusters, func(a, b rollout.Cluster) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) || !slices.IsSorted(after.Following) {
		fail("entries are not in order")
	}
	if before.Promoted != nil && (after.Promoted == nil || after.Promoted.Number < before.Promoted.Number) {
		fail("what was promoted is gone")
	}
	if before.Promoted != nil && after.Promoted.Number > before.Promoted.Number {
		if before.Candidate == nil || after.Promoted.Number != before.Candidate.Number {
			fail("promoted %d, which was not the candidate", after.Promoted.Number)
		}
	}
	for i := range after.Clusters {
		e := &after.Clusters[i]
		old := before.Find(e.Name)
		started := given(e.State) && (old == nil || !given(old.State))
		if !started {
			continue
		}
		if after.Phase == rollout.Halted || after.Phase == rollout.RollingBack || after.Phase == rollout.RolledBack {
			fail("%s starts in phase %s", e.Name, after.Phase)
		}
		if !f.clusters[e.Name].available {
			fail("%s starts while it is away", e.Name)
		}
		if f.spec.Strategy.Type == clusterv1alpha1.ProgressivePerGroup {
			f.inOrder(after, e.Name, fail)
		}
	}
}

// inOrder: every cluster of the groups before is through, or counted as failed.
func (f *fleet) inOrder(s *rollout.Status, name string, fail func(string, ...any)) {
	for _, g := range f.groups {
		if slices.Contains(g.Clusters, name) {
			return
		}
		for _, before := range g.Clusters {
			e := s.Find(before)
			switch {
			case e == nil:
				fail("%s starts before %s", name, before)
			case e.State == rollout.StateSucceeded && f.now.Before(e.Since.Add(30*time.Second)):
				fail("%s starts while %s soaks", name, before)
			case e.State == rollout.StateProgressing || e.State == rollout.StatePending:
				fail("%s starts while %s is %s", name, before, e.State)
			}
		}
	}
}

func perGroup(maxFailures int, on rollout.OnFailure) rollout.Spec {
	return rollout.Spec{ApplicationSet: "set", OnFailure: on, Strategy: clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.ProgressivePerGroup, ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: clusterv1alpha1.RolloutConfig{
			MinSuccessTime: metav1.Duration{Duration: 30 * time.Second}, ProgressDeadline: "5m", MaxFailures: intstr.FromInt(maxFailures),
		}},
	}}
}

// quiesce has everything happen that is to happen, until nothing does.
func (f *fleet) quiesce() {
	f.t.Helper()
	quiet := 0
	for range 400 {
		f.now = f.now.Add(7 * time.Second)
		before, _ := json.Marshal(f.status)
		f.step()
		writes := f.writes
		for _, name := range f.names() {
			c := f.clusters[name]
			f.deliver(c)
			f.apply(c)
			f.compare(c)
			f.settle(c)
		}
		after, _ := json.Marshal(f.status)
		if string(before) != string(after) || writes != f.writes || f.status.Phase == rollout.Progressing {
			quiet = 0
		} else if quiet++; quiet > 3 {
			return
		}
	}
}

func (f *fleet) names() []string {
	names := make([]string, 0, len(f.clusters))
	for name := range f.clusters {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Good commits reach every cluster, each with one write for a promotion; bad ones are compared
// by the first group only, and are taken back.
func TestNext_badCommitStopsAtTheFirstGroup(t *testing.T) {
	for _, kind := range []string{"s", "d", "p"} {
		for _, content := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, content), func(t *testing.T) {
				f := newFleet(t, rand.New(rand.NewPCG(1, 2)), perGroup(0, rollout.Rollback), 1, 1, 2)
				f.quiesce()
				if f.status.Promoted == nil || f.status.Promoted.Revisions[0] != "r0" {
					t.Fatalf("what runs was not adopted: %+v", f.status)
				}
				f.branch = "r1"
				f.writes = 0
				f.quiesce()
				if f.status.Phase != rollout.Idle || f.status.Promoted.Revisions[0] != "r1" || f.writes != 3 {
					t.Fatalf("a good commit was not promoted with one write for each of the 3 other clusters, but %d: %+v", f.writes, f.status)
				}
				bad := "r2"
				if content {
					bad = "c1"
					f.want = bad
				} else {
					f.branch = bad
				}
				f.quality[bad] = kind
				f.quiesce()
				if f.status.Phase != rollout.RolledBack {
					t.Fatalf("a bad candidate was not taken back: %+v", f.status)
				}
				for name, c := range f.clusters {
					if c.everCompared[bad] != (name == "c000") {
						t.Errorf("%s has compared the bad one: %t", name, c.everCompared[bad])
					}
					if c.compared.Revisions[0] != "r1" || c.compared.Content != "c0" {
						t.Errorf("%s runs %v", name, c.compared)
					}
				}
				// mended, and approved
				f.quality[bad] = ""
				if !content {
					f.branch = "r3"
				}
				f.approved = f.status.Candidate.Number
				f.quiesce()
				if f.status.Phase != rollout.Idle || f.status.Candidate != nil {
					t.Fatalf("the mended one was not promoted: %+v", f.status)
				}
				for name, c := range f.clusters {
					if c.compared.Revisions[0] != f.branch || c.compared.Content != f.want {
						t.Errorf("%s runs %v, not %s %s", name, c.compared, f.want, f.branch)
					}
				}
			})
		}
	}
}

// A candidate of which no cluster is left to show that it is good is not promoted, and Applications
// that are made again get what was.
func TestNext_setDeletedUnderARollout(t *testing.T) {
	f := newFleet(t, rand.New(rand.NewPCG(1, 2)), perGroup(0, rollout.Rollback), 1, 1, 2)
	f.quiesce()
	f.branch = "r1"
	f.quality["r1"] = "p"
	first := f.clusters["c000"]
	f.compare(first)
	f.step()
	if f.status.Phase != rollout.Progressing || !slices.Equal(f.status.Candidate.Revisions, []string{"r1"}) {
		t.Fatalf("nothing is rolled out: %+v", f.status)
	}
	number := f.status.Candidate.Number
	all := f.clusters
	f.clusters = map[string]*sim{}
	f.step()
	if f.status.Phase != rollout.Idle || f.status.Candidate != nil || f.status.Promoted.Revisions[0] != "r0" {
		t.Fatalf("with no cluster left: %+v", f.status)
	}
	for name := range all {
		f.clusters[name] = &sim{name: name, available: true, everCompared: map[string]bool{}}
	}
	f.step()
	for name, c := range f.clusters {
		f.deliver(c)
		if want := []string{"r0"}; name != "c000" && (c.work.Content != f.want || !slices.Equal(c.work.Revisions, want)) {
			t.Errorf("%s, made again, gets %v, not %v", name, c.work, want)
		}
	}
	f.quiesce()
	if f.status.Phase != rollout.RolledBack || f.status.Candidate.Number <= number {
		t.Errorf("r1 is still bad: %+v", f.status)
	}
}

// Whatever happens in whichever order: a cluster outside the first group compares nothing that
// no cluster of the first group was good with, no group begins before those before it, and a
// cluster that is away gets only what is promoted.
func TestNext_randomSteps(t *testing.T) {
	steps := 30000
	promoted, back := 0, 0
	for seed := range uint64(steps / 500) {
		r := rand.New(rand.NewPCG(seed, 7))
		f := newFleet(t, r, perGroup(int(seed%2), []rollout.OnFailure{rollout.Rollback, rollout.Halt}[seed/2%2]), 1+int(seed%2), 2, 2)
		f.quiesce()
		for i := range 500 {
			f.now = f.now.Add(time.Duration(r.IntN(20)) * time.Second)
			name := f.names()[r.IntN(len(f.clusters))]
			c := f.clusters[name]
			switch k := r.IntN(100); {
			case k < 30:
				was := f.status
				f.step()
				if f.status.Promoted.Number > was.Promoted.Number {
					promoted++
				}
				if f.status.Phase == rollout.RolledBack && was.Phase != rollout.RolledBack {
					back++
				}
			case k < 48:
				f.some(f.deliver)
			case k < 63:
				f.some(f.apply)
			case k < 80:
				f.some(f.compare)
			case k < 96:
				f.some(f.settle)
			case k < 97 && r.IntN(3) == 0:
				f.commits++
				f.branch = fmt.Sprint("r", f.commits)
				f.quality[f.branch] = []string{"", "", "", "s", "d", "p"}[r.IntN(6)]
			case k < 97 && r.IntN(4) == 0:
				f.commits++
				f.want = fmt.Sprint("t", f.commits)
				f.quality[f.want] = []string{"", "", "", "s", "d", "p"}[r.IntN(6)]
			case k < 98 && r.IntN(2) == 0:
				c.available = !c.available
			case k < 99 && f.status.Candidate != nil:
				f.approved = f.status.Candidate.Number
				// a bad one that an operator approves goes everywhere
				if f.status.Phase != rollout.RolledBack {
					f.approved = 0
				}
			case r.IntN(10) == 0 && f.status.Candidate != nil:
				f.aborted = f.status.Candidate.Number
			}
			f.exact(i, seed)
		}
		for _, c := range f.clusters {
			c.available = true
		}
		f.quality, f.aborted, f.approved = map[string]string{}, 0, 0
		f.quiesce()
		if f.status.Candidate != nil {
			f.approved = f.status.Candidate.Number
			f.quiesce()
			f.approved = 0
			if f.status.Candidate != nil {
				f.approved = f.status.Candidate.Number
				f.quiesce()
			}
		}
		for name, c := range f.clusters {
			if f.status.Phase != rollout.Idle || c.compared.Content != f.want || c.compared.Revisions[0] != f.branch {
				raw, _ := json.MarshalIndent(f.status, "", " ")
				t.Fatalf("seed %d: at the end %s runs %v, not %s %s\n%s", seed, name, c.compared, f.want, f.branch, raw)
			}
		}
	}
	t.Logf("%d promotions, %d rolled back", promoted, back)
	if promoted < 20 || back < 5 {
		t.Errorf("%d promotions and %d times back are too few to prove anything", promoted, back)
	}
}

// some has what is done with clusters done with some of those that are not away.
func (f *fleet) some(do func(*sim)) {
	for _, name := range f.names() {
		if c := f.clusters[name]; f.r.IntN(3) > 0 && (c.available || f.r.IntN(2) == 0) {
			do(c)
		}
	}
}

// exact: with no failure allowed, only clusters that follow the branch compare something bad.
func (f *fleet) exact(i int, seed uint64) {
	f.t.Helper()
	if c := config(&f.spec.Strategy); c.MaxFailures.IntValue() > 0 {
		return
	}
	for name, c := range f.clusters {
		if slices.Contains(f.groups[0].Clusters, name) {
			continue
		}
		for what := range c.everCompared {
			if f.quality[what] != "" {
				raw, _ := json.MarshalIndent(f.status, "", " ")
				f.t.Fatalf("seed %d, step %d: %s compared %s, which is bad\n%s", seed, i, name, what, raw)
			}
		}
	}
}
