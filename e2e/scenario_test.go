// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// TestScenario_runsEveryStepOfTheDemo runs the steps of the demo. Each step must succeed.
func TestScenario_runsEveryStepOfTheDemo(t *testing.T) {
	s := scenario.New(fleet, view, func(line string) { t.Log(line) })
	for _, step := range s.Steps() {
		t.Log(step.Title)
		if err := step.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, latency := range s.Latencies() {
		t.Log(latency.Title)
		for _, stage := range latency.Stages {
			t.Log(stage.Name, stage.Took)
		}
	}
}
