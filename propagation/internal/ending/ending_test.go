// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		facts Facts
		want  Step
	}{
		"the work does not say how it ends: it is written":                   {Facts{Finalized: true}, Write},
		"it says so and the agent has not reported: wait":                    {Facts{Finalized: true, Says: true}, Wait},
		"the agent has applied it: delete":                                   {Facts{Finalized: true, Says: true, Proven: true, Applied: metav1.ConditionTrue}, Delete},
		"applied in an earlier version is not applied":                       {Facts{Finalized: true, Applied: metav1.ConditionTrue}, Write},
		"the agent cannot apply it, and it prunes: delete":                   {Facts{Finalized: true, Says: true, Applied: metav1.ConditionFalse}, Delete},
		"the agent cannot apply it, and something stays: wait":               {Facts{Finalized: true, Says: true, Leaves: true, Applied: metav1.ConditionFalse}, Wait},
		"applied, and a former manager's finalizer would prune: wait":        {Facts{Finalized: true, Says: true, Leaves: true, Applied: metav1.ConditionTrue}, Wait},
		"what stays is written first":                                        {Facts{Finalized: true, Leaves: true}, Write},
		"what stays waits for a slow agent, or one that is away":             {Facts{Finalized: true, Leaves: true, Says: true}, Wait},
		"the agent has not begun: delete":                                    {Facts{}, Delete},
		"the agent has not begun, something would stay: delete":              {Facts{Leaves: true}, Delete},
		"the cluster is leaving: delete":                                     {Facts{Finalized: true, ClusterLeaving: true}, Delete},
		"the cluster is leaving, something would stay: delete":               {Facts{Finalized: true, Leaves: true, ClusterLeaving: true}, Delete},
		"it only reads: delete":                                              {Facts{Finalized: true, Leaves: true, Observes: true}, Delete},
		"abandoned, and it prunes: delete, a cluster that returns prunes":    {Facts{Finalized: true, Abandoned: true}, Delete},
		"abandoned, and something stays: it is written all the same":         {Facts{Finalized: true, Leaves: true, Abandoned: true}, Write},
		"abandoned, and something stays: the work waits for its agent":       {Facts{Finalized: true, Leaves: true, Abandoned: true, Says: true}, Wait},
		"abandoned, something stays, and the agent has applied that: delete": {Facts{Finalized: true, Leaves: true, Abandoned: true, Says: true, Proven: true, Applied: metav1.ConditionTrue}, Delete},
		"abandoned, something stays, and the agent cannot apply that: waits": {Facts{Finalized: true, Leaves: true, Abandoned: true, Says: true, Applied: metav1.ConditionFalse}, Wait},
	} {
		if got := Next(c.facts); got != c.want {
			t.Errorf("%s: got step %d, want %d", name, got, c.want)
		}
	}
}
