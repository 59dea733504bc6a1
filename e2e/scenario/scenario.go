// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// ApplicationSet is the name of the example's ApplicationSet.
const ApplicationSet = "guestbook"

// Step acts and then waits for its result.
type Step struct {
	// Title describes the step.
	Title string
	// Run returns an error if the result does not appear in time. The error names the awaited
	// result and the last state.
	Run func(context.Context) error
}

// Run runs steps one after the other. It passes the title of each step to say.
func Run(ctx context.Context, steps []Step, say func(string)) error {
	began := time.Now()
	for i, step := range steps {
		say(fmt.Sprintf("\n[%d/%d] %s", i+1, len(steps), step.Title))
		if err := step.Run(ctx); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	say(fmt.Sprintf("\nAll steps succeeded, in %s.", time.Since(began).Round(100*time.Millisecond)))
	return nil
}

// Scenario runs once, on one fleet.
type Scenario struct {
	watch watch
	fleet *env.Fleet
	log   func(string)

	latencies []Latency
	original  string // the guestbook before the broken commit
}

// watch contains the checks at the end of stages.
type watch struct {
	view *View
	set  string // the ApplicationSet's name
}

// New returns the scenario of a fleet. It passes lines for a reader to log.
func New(fleet *env.Fleet, view *View, log func(string)) *Scenario {
	return &Scenario{watch: watch{view: view, set: ApplicationSet}, fleet: fleet, log: log}
}

// application returns the name of a cluster's Application in the example.
func application(cluster string) string { return cluster + "-" + ApplicationSet }

func (s *Scenario) logf(format string, args ...any) { s.log(fmt.Sprintf(format, args...)) }
