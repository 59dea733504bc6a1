// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/story"
)

// TestStory asserts what the demo shows: every step's promise comes true.
func TestStory(t *testing.T) {
	s := story.New(fleet, view, func(line string) { t.Log(line) })
	for _, step := range s.Steps() {
		t.Log(step.Title)
		if err := step.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, journey := range s.Journeys() {
		t.Log(journey.Title)
		for _, hop := range journey.Hops {
			t.Log(hop.Name, hop.Took)
		}
	}
}
