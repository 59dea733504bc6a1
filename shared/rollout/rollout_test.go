// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestContent(t *testing.T) {
	app := func(spec string, annotations map[string]string) *argocd.Application {
		return &argocd.Application{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{contract.PullLabel: "true"}, Annotations: annotations}, Spec: json.RawMessage(spec)}
	}
	base := Content(app(`{"project":"a","source":{"path":"x"}}`, nil))
	for name, c := range map[string]struct {
		app  *argocd.Application
		same bool
	}{
		"order and space of JSON":   {app(`{"source": {"path":"x"}, "project":"a"}`, nil), true},
		"a refresh is a request":    {app(`{"project":"a","source":{"path":"x"}}`, map[string]string{argocd.RefreshAnnotation: "normal"}), true},
		"a pause is no content":     {app(`{"project":"a","source":{"path":"x"}}`, map[string]string{contract.PausedAnnotation: "sync"}), true},
		"the name of a project":     {app(`{"project":"b","source":{"path":"x"}}`, nil), false},
		"where it goes to":          {app(`{"project":"a","source":{"path":"x"}}`, map[string]string{contract.DestinationNameAnnotation: "x"}), false},
		"an annotation of its own":  {app(`{"project":"a","source":{"path":"x"}}`, map[string]string{"team": "x"}), false},
		"a value of the generator":  {app(`{"project":"a","source":{"path":"y"}}`, nil), false},
		"a spec that is no object":  {app(`"x`, nil), false},
		"a spec that is not there":  {app(``, nil), false},
		"a null in values of Helm ": {app(`{"project":"a","source":{"path":"x","helm":null}}`, nil), false},
	} {
		if got := Content(c.app) == base; got != c.same {
			t.Errorf("%s: the same content is %t, want %t", name, got, c.same)
		}
	}
}

func TestSources(t *testing.T) {
	for spec, want := range map[string]struct {
		n       int
		several bool
		bad     bool
	}{
		`{"source":{"repoURL":"r"}}`:                     {1, false, false},
		`{"sources":[{"repoURL":"r"},{"ref":"values"}]}`: {2, true, false},
		`{"sources":[{},{},{},{},{},{},{},{},{}]}`:       {0, false, true},
		`{}`: {0, false, true},
		`[]`: {0, false, true},
		`{"source":{"repoURL":"r"},"sourceHydrator":{"a":{}}}`:          {0, false, true},
		`{"source":{"repoURL":"r"},"sources":[],"sourceHydrator":null}`: {1, false, false},
	} {
		sources, several, err := Sources(json.RawMessage(spec))
		if len(sources) != want.n || several != want.several || (err != nil) != want.bad {
			t.Errorf("%s: %v, %t, %v", spec, sources, several, err)
		}
		if len(sources) == 1 && sources[0].TargetRevision != "HEAD" {
			t.Errorf("%s: no target revision is %q", spec, sources[0].TargetRevision)
		}
	}
}

func TestCarried(t *testing.T) {
	for _, c := range []Carried{{}, {Content: "a"}, {Content: "a", Revisions: []string{"r"}}, {Content: "a", Revisions: []string{"r", "1.2.3"}}} {
		if got := ParseCarried(c.String()); got.Content != c.Content || !slices.Equal(got.Revisions, c.Revisions) {
			t.Errorf("%q is %+v, want %+v", c.String(), got, c)
		}
	}
}

func TestGoverning(t *testing.T) {
	at := func(name, set string, s int64) ApplicationSetRollout {
		return ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(s, 0))}, Spec: Spec{ApplicationSet: set}}
	}
	list := []ApplicationSetRollout{at("young", "set", 9), at("b", "set", 5), at("a", "set", 5), at("other", "other", 1)}
	if r := Governing(list, "team", "set"); r == nil || r.Name != "a" {
		t.Errorf("of several governs %v, want the oldest, and the first by name", r)
	}
	for _, none := range []*ApplicationSetRollout{Governing(list, "another", "set"), Governing(list, "team", ""), Governing(nil, "team", "set")} {
		if none != nil {
			t.Errorf("%s governs", none.Name)
		}
	}
}

func TestGrant(t *testing.T) {
	promoted, candidate := &Version{Number: 3, Revisions: []string{"p"}}, &Version{Number: 4, Revisions: []string{"c"}}
	for name, c := range map[string]struct {
		status  Status
		cluster string
		allow   Allow
		pinned  []string
	}{
		"no rollout":                         {Status{}, "x", AllowAll, nil},
		"at rest the others are pinned":      {Status{Phase: Idle, Promoted: promoted, Following: []string{"a"}}, "x", AllowCarried, []string{"p"}},
		"at rest the first follows":          {Status{Phase: Idle, Promoted: promoted, Following: []string{"x"}}, "x", AllowCarried, nil},
		"no turn yet":                        {Status{Phase: Progressing, Promoted: promoted, Candidate: candidate}, "x", AllowCarried, []string{"p"}},
		"its turn":                           {Status{Phase: Progressing, Promoted: promoted, Candidate: candidate, Clusters: []Cluster{{Name: "x", State: StateProgressing}}}, "x", AllowHub, []string{"c"}},
		"its turn, first group":              {Status{Phase: Progressing, Promoted: promoted, Candidate: candidate, Following: []string{"x"}, Clusters: []Cluster{{Name: "x", State: StateFailed}}}, "x", AllowHub, nil},
		"its turn, and no revision":          {Status{Phase: Progressing, Promoted: promoted, Candidate: &Version{}, Clusters: []Cluster{{Name: "x", State: StateProgressing}}}, "x", AllowNothing, []string{"p"}},
		"halted, it has the candidate":       {Status{Phase: Halted, Promoted: promoted, Candidate: candidate, Clusters: []Cluster{{Name: "x", State: StateSucceeded}}}, "x", AllowHub, []string{"c"}},
		"halted, first group, had no turn":   {Status{Phase: Halted, Promoted: promoted, Candidate: candidate, Following: []string{"x"}}, "x", AllowCarried, []string{"p"}},
		"back":                               {Status{Phase: RollingBack, Promoted: promoted, Candidate: candidate, Following: []string{"x"}, Clusters: []Cluster{{Name: "x", State: StateFailed}}}, "x", AllowPromoted, []string{"p"}},
		"is back":                            {Status{Phase: RolledBack, Promoted: promoted, Candidate: candidate, Clusters: []Cluster{{Name: "x", State: StateRestored}}}, "x", AllowPromoted, []string{"p"}},
		"away at its turn":                   {Status{Phase: Progressing, Promoted: promoted, Candidate: candidate, Clusters: []Cluster{{Name: "x", State: StatePending}}}, "x", AllowCarried, []string{"p"}},
		"an earlier candidate":               {Status{Phase: Progressing, Promoted: promoted, Candidate: candidate, Clusters: []Cluster{{Name: "x", State: StateSuperseded}}}, "x", AllowNothing, []string{"p"}},
		"an earlier candidate goes back":     {Status{Phase: RollingBack, Promoted: promoted, Candidate: candidate, Clusters: []Cluster{{Name: "x", State: StateSuperseded}}}, "x", AllowPromoted, []string{"p"}},
		"new, and nothing is on its way":     {Status{Phase: Idle, Promoted: promoted, Clusters: []Cluster{{Name: "x", State: StateJoining}}}, "x", AllowJoin, []string{"p"}},
		"before anything is promoted":        {Status{Phase: Idle}, "x", AllowCarried, nil},
		"entries are found by binary search": {Status{Phase: Idle, Promoted: promoted, Clusters: []Cluster{{Name: "a", State: StateJoining}, {Name: "x", State: StateJoining}}}, "m", AllowCarried, []string{"p"}},
	} {
		if g := c.status.Grant(c.cluster); g.Allow != c.allow || !slices.Equal(g.Revisions, c.pinned) {
			t.Errorf("%s: %+v, want %d at %v", name, g, c.allow, c.pinned)
		}
	}
}
