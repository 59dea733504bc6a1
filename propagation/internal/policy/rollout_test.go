// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

func TestDecideRollout(t *testing.T) {
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", Annotations: map[string]string{contract.ClusterAnnotation: "x"}},
		Spec:       json.RawMessage(`{"project":"default","source":{"path":"new"}}`),
	}
	hub := rollout.Content(app)
	work := func(carried string) *manifestcache.Work {
		w := &manifestcache.Work{Stored: &manifestcache.Stored{ApplicationSpec: "another"}, Extra: &manifestcache.Extra{}}
		if carried != "" {
			w.Annotations = map[string]string{contract.RolloutAnnotation: carried}
		}
		return w
	}
	promoted := &rollout.Version{Number: 3, Revisions: []string{"p"}}
	in := func(s rollout.State, phase rollout.Phase, contents, from []string) *rollout.ApplicationSetRollout {
		r := &rollout.ApplicationSetRollout{Status: rollout.Status{Phase: phase, Promoted: promoted, Candidate: &rollout.Version{Number: 4, Revisions: []string{"c"}}}}
		if s != "" {
			r.Status.Clusters = []rollout.Cluster{{Name: "x", State: s, Contents: contents, From: from}}
		}
		return r
	}
	for name, c := range map[string]struct {
		rollout *rollout.ApplicationSetRollout
		work    *manifestcache.Work
		act     RolloutAct
		carried string
		changes bool
	}{
		"no rollout":                               {nil, work(""), RolloutDeliver, "", false},
		"one that was never accepted":              {&rollout.ApplicationSetRollout{}, work(""), RolloutDeliver, "", false},
		"other content has no turn":                {in("", rollout.Progressing, nil, nil), work("old@p"), RolloutHold, "", false},
		"the same content is pinned":               {in("", rollout.Progressing, nil, nil), work(hub), RolloutDeliver, hub + "@p", false},
		"a new Application waits":                  {in("", rollout.Idle, nil, nil), nil, RolloutHold, "", false},
		"a work without a word of what it carries": {in("", rollout.Idle, nil, nil), work(""), RolloutHold, "", false},
		"its turn":                                 {in(rollout.StateProgressing, rollout.Progressing, []string{hub}, nil), work("old@p"), RolloutDeliver, hub + "@c", true},
		"what was promoted while it was away":      {in(rollout.StateJoining, rollout.Idle, []string{hub}, nil), work("old@p"), RolloutDeliver, hub + "@p", false},
		"its turn was for content before":          {in(rollout.StateProgressing, rollout.Progressing, []string{"before"}, nil), work("old@p"), RolloutHold, "", false},
		"its turn, and it is new":                  {in(rollout.StateProgressing, rollout.Progressing, []string{hub}, nil), nil, RolloutDeliver, hub + "@c", false},
		"back, by revision alone":                  {in(rollout.StateFailed, rollout.RollingBack, []string{hub}, []string{hub}), work(hub + "@c"), RolloutDeliver, hub + "@p", false},
		"back, by content":                         {in(rollout.StateFailed, rollout.RollingBack, []string{hub}, []string{"old"}), work(hub + "@c"), RolloutRestore, hub + "@p", false},
		"is back":                                  {in(rollout.StateRestored, rollout.RolledBack, []string{hub}, []string{"old"}), work("old@p"), RolloutHold, "", false},
		"back, it still carries what was promoted": {in(rollout.StateFailed, rollout.RollingBack, []string{hub}, []string{"old"}), work("old@c"), RolloutRestore, hub + "@p", false},
		"back, it came since":                      {in(rollout.StateRestored, rollout.RolledBack, []string{hub}, []string{hub}), nil, RolloutDeliver, hub + "@p", false},
		"back, it came with what was bad":          {in(rollout.StateRestored, rollout.RolledBack, []string{hub}, []string{"old"}), nil, RolloutHold, "", false},
		"halted, other content":                    {in("", rollout.Halted, nil, nil), work("old@p"), RolloutHold, "", false},
	} {
		d := DecideRollout(Inputs{Application: app, Rollout: c.rollout}, c.work)
		carried := ""
		if d.Carried != nil {
			carried = d.Carried.String()
		}
		if d.Act != c.act || carried != c.carried || d.Changes != c.changes {
			t.Errorf("%s: act %d, carries %q, changes %t; want %d, %q, %t", name, d.Act, carried, d.Changes, c.act, c.carried, c.changes)
		}
	}
	observed := app.DeepCopy()
	observed.Annotations[contract.ManagementPolicyAnnotation] = "observe"
	if d := DecideRollout(Inputs{Application: observed, Rollout: in("", rollout.Idle, nil, nil)}, nil); d.Act != RolloutDeliver || d.Carried != nil {
		t.Errorf("one that is only observed: %+v", d)
	}
	several := app.DeepCopy()
	several.Spec = json.RawMessage(`{"sources":[{"path":"a"},{"path":"b"}]}`)
	if d := DecideRollout(Inputs{Application: several, Rollout: in("", rollout.Idle, nil, nil)}, work(rollout.Content(several))); d.Act != RolloutHold {
		t.Errorf("two sources and one revision: %+v", d)
	}
}
