// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNextStep(t *testing.T) {
	for name, c := range map[string]struct {
		facts stepFacts
		want  Step
	}{
		"the work does not say how it ends: it is written":                   {stepFacts{Finalized: true}, StepWrite},
		"it is written and the agent has not reported: wait":                 {stepFacts{Finalized: true, Written: true}, StepWait},
		"the agent has applied it: delete":                                   {stepFacts{Finalized: true, Written: true, Proven: true, Applied: metav1.ConditionTrue}, StepDelete},
		"applied in an earlier version is not applied":                       {stepFacts{Finalized: true, Applied: metav1.ConditionTrue}, StepWrite},
		"the agent cannot apply it, and it prunes: delete":                   {stepFacts{Finalized: true, Written: true, Applied: metav1.ConditionFalse}, StepDelete},
		"the agent cannot apply it, and something stays: wait":               {stepFacts{Finalized: true, Written: true, Leaves: true, Applied: metav1.ConditionFalse}, StepWait},
		"applied, and a former manager's finalizer would prune: wait":        {stepFacts{Finalized: true, Written: true, Leaves: true, Applied: metav1.ConditionTrue}, StepWait},
		"what stays is written first":                                        {stepFacts{Finalized: true, Leaves: true}, StepWrite},
		"what stays waits for a slow agent, or one that is away":             {stepFacts{Finalized: true, Leaves: true, Written: true}, StepWait},
		"the agent has not begun: delete":                                    {stepFacts{}, StepDelete},
		"the agent has not begun, something would stay: delete":              {stepFacts{Leaves: true}, StepDelete},
		"the cluster is leaving: delete":                                     {stepFacts{Finalized: true, ClusterLeaving: true}, StepDelete},
		"the cluster is leaving, something would stay: delete":               {stepFacts{Finalized: true, Leaves: true, ClusterLeaving: true}, StepDelete},
		"it only reads: delete":                                              {stepFacts{Finalized: true, Leaves: true, Observes: true}, StepDelete},
		"abandoned, and it prunes: delete, a cluster that returns prunes":    {stepFacts{Finalized: true, Abandoned: true}, StepDelete},
		"abandoned, and something stays: it is written all the same":         {stepFacts{Finalized: true, Leaves: true, Abandoned: true}, StepWrite},
		"abandoned, and something stays: the work waits for its agent":       {stepFacts{Finalized: true, Leaves: true, Abandoned: true, Written: true}, StepWait},
		"abandoned, something stays, and the agent has applied that: delete": {stepFacts{Finalized: true, Leaves: true, Abandoned: true, Written: true, Proven: true, Applied: metav1.ConditionTrue}, StepDelete},
		"abandoned, something stays, and the agent cannot apply that: waits": {stepFacts{Finalized: true, Leaves: true, Abandoned: true, Written: true, Applied: metav1.ConditionFalse}, StepWait},
	} {
		if got := nextStep(c.facts); got != c.want {
			t.Errorf("%s: got step %d, want %d", name, got, c.want)
		}
	}
}
