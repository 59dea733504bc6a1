// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// A new cluster gets what is promoted although a bad revision was stopped and waits for its
// operator, and takes part in the next rollout; beside other content it waits.
func TestNext_newClusterWhileStopped(t *testing.T) {
	for name, c := range map[string]struct {
		on      rollout.OnFailure
		content bool
		want    string // what the new cluster carries while it is stopped
	}{
		"halted":                     {rollout.Halt, false, "c0@r0"},
		"rolled back":                {rollout.Rollback, false, "c0@r0"},
		"halted, other content":      {rollout.Halt, true, ""},
		"rolled back, other content": {rollout.Rollback, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, rand.New(rand.NewPCG(1, 2)), perGroup(0, c.on), 1, 2)
			f.quiesce()
			bad := "r1"
			if c.content {
				bad = "c1"
				f.want = bad
			} else {
				f.branch = bad
			}
			f.quality[bad] = "s"
			f.quiesce()
			f.clusters["c009"] = &sim{name: "c009", available: true, everCompared: map[string]bool{}}
			f.quiesce()
			if got := f.clusters["c009"].work.String(); got != c.want || f.status.Phase != rollout.Halted && f.status.Phase != rollout.RolledBack {
				t.Errorf("it carries %q, want %q, in phase %s", got, c.want, f.status.Phase)
			}
			if e := f.status.Find("c009"); e != nil {
				t.Errorf("it has what is promoted, and an entry: %+v", e)
			}

			f.quality = map[string]string{}
			f.approved = f.status.Candidate.Number
			f.quiesce()
			for name, c := range f.clusters {
				if f.status.Phase != rollout.Idle || c.compared.Content != f.want || c.compared.Revisions[0] != f.branch {
					t.Errorf("approved, in phase %s, %s runs %v, not %s %s", f.status.Phase, name, c.compared, f.want, f.branch)
				}
			}
		})
	}
}

// An Application that a cluster has gained or lost since it was given the first candidate does not
// keep a rollback from its end.
func TestNext_rollbackEndsWithOtherApplications(t *testing.T) {
	app := func(name, want, carried, revision string) App {
		return App{Name: name, Want: want, HasWork: carried != "", Carried: rollout.Carried{Content: carried, Revisions: []string{revision}}}
	}
	for name, c := range map[string]struct {
		from            []string // what was noted with the first candidate
		given, restored []App
	}{
		"as many":  {[]string{"a1", "b1"}, []App{app("a", "a2", "a1", "p"), app("b", "b2", "b1", "p")}, []App{app("a", "a2", "a1", "p"), app("b", "b2", "b1", "p")}},
		"one less": {[]string{"a1", "b1"}, []App{app("a", "a2", "a1", "p")}, []App{app("a", "a2", "a1", "p")}},
		"one more": {[]string{"a1"}, []App{app("a", "a2", "a1", "p"), app("b", "b2", "", "")}, []App{app("a", "a2", "a1", "p"), app("b", "b2", "b2", "c")}},
	} {
		in := Input{Spec: perGroup(0, rollout.Rollback), Now: time.Now(), Clusters: map[string]Cluster{"x": {Available: true, Apps: c.given}}, Status: rollout.Status{
			Phase: rollout.Progressing, Following: []string{"x"}, Promoted: &rollout.Version{Number: 1, Revisions: []string{"p"}},
			Candidate: &rollout.Version{Number: 3, Revisions: []string{"c"}, Content: true},
			Clusters:  []rollout.Cluster{{Name: "x", State: rollout.StateSuperseded, Contents: []string{"a0"}, From: c.from}},
		}}
		s, _, err := Next(in)
		if err != nil || s.Find("x").State != rollout.StateProgressing {
			t.Fatalf("%s: it is not given the candidate: %+v, %v", name, s, err)
		}
		in.Aborted, in.Status = 3, s
		if s, _, err = Next(in); err != nil || s.Phase != rollout.RollingBack && s.Phase != rollout.RolledBack {
			t.Fatalf("%s: it is not taken back: %+v, %v", name, s, err)
		}
		in.Clusters, in.Status = map[string]Cluster{"x": {Available: true, Apps: c.restored}}, s
		if s, _, err = Next(in); err != nil || s.Phase != rollout.RolledBack {
			t.Errorf("%s: what it had is there again, and the phase is %s: %+v, %v", name, s.Phase, s.Clusters, err)
		}
	}
}

// An Application that leaves a cluster or comes to it does not begin another candidate, which would
// be what was stopped: the others stay as they are, and it gets their revision.
func TestNext_applicationsComeAndGo(t *testing.T) {
	const promoted, candidate = "p", "c"
	app := func(name, want, carried, revision string) App {
		return App{Name: name, Want: want, HasWork: carried != "", Applied: true, Known: true, Carried: rollout.Carried{Content: carried, Revisions: []string{revision}}}
	}
	for name, c := range map[string]struct {
		phase   rollout.Phase
		state   rollout.State
		content bool // not only the revision is another
		apps    []App
		begins  bool
		gives   []string // the revision that a new Application on x gets, nil when it waits
	}{
		"back, one has gone":                      {rollout.RolledBack, rollout.StateRestored, false, []App{app("a", "a", "a", promoted)}, false, nil},
		"back from other content, one has gone":   {rollout.RolledBack, rollout.StateRestored, true, []App{app("a", "a2", "a", promoted)}, false, nil},
		"halted, one has gone":                    {rollout.Halted, rollout.StateFailed, false, []App{app("a", "a", "a", candidate)}, false, nil},
		"halted with other content, one has gone": {rollout.Halted, rollout.StateFailed, true, []App{app("a", "a2", "a2", candidate)}, false, nil},
		"back, one has come":                      {rollout.RolledBack, rollout.StateRestored, false, []App{app("a", "a", "a", promoted), app("b", "b", "b", promoted), app("n", "n", "", "")}, false, []string{promoted}},
		"back, one for another":                   {rollout.RolledBack, rollout.StateRestored, false, []App{app("a", "a", "a", promoted), app("n", "n", "", "")}, false, []string{promoted}},
		"halted, one has come":                    {rollout.Halted, rollout.StateFailed, false, []App{app("a", "a", "a", candidate), app("b", "b", "b", candidate), app("n", "n", "", "")}, false, []string{candidate}},
		"back from other content, one has come":   {rollout.RolledBack, rollout.StateRestored, true, []App{app("a", "a2", "a", promoted), app("b", "b2", "b", promoted), app("n", "n", "", "")}, true, nil},
		"back, and the hub says something else":   {rollout.RolledBack, rollout.StateRestored, false, []App{app("a", "a3", "a", promoted), app("b", "b", "b", promoted)}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := rollout.Cluster{Name: "x", State: c.state, Contents: []string{"a", "b"}, From: []string{"a", "b"}}
			if c.content {
				x.Contents = []string{"a2", "b2"}
			}
			in := Input{Spec: perGroup(0, rollout.Rollback), Now: time.Now(), Groups: []Group{{Clusters: []string{"first"}}, {Clusters: []string{"x"}}}, Clusters: map[string]Cluster{
				"first": {Available: true, Apps: []App{app("f", "f", "f", promoted)}}, "x": {Available: true, Apps: c.apps},
			}, Status: rollout.Status{
				Phase: c.phase, Following: []string{"first"}, Promoted: &rollout.Version{Number: 1, Revisions: []string{promoted}},
				Candidate: &rollout.Version{Number: 2, Revisions: []string{candidate}, Content: c.content},
				Clusters:  []rollout.Cluster{{Name: "first", State: c.state, Contents: []string{"f"}, From: []string{"f"}}, x},
			}}
			s, _, err := Next(in)
			if err != nil || s.Candidate == nil || (s.Candidate.Number != 2) != c.begins {
				t.Fatalf("another candidate begins: %t; want %t: %+v, %v", s.Candidate.Number != 2, c.begins, s, err)
			}
			if c.gives == nil {
				return
			}
			if g := s.Grant("x"); !slices.Contains(g.Contents, "n") || !slices.Equal(g.Revisions, c.gives) {
				t.Errorf("the Application that has come gets %+v, want its content at %v", g, c.gives)
			}
		})
	}
}
