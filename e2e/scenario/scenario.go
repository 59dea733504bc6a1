// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// ApplicationSet is the name of the example's ApplicationSet.
const ApplicationSet = "guestbook"

// Step acts and then waits until its result is there.
type Step struct {
	// Title says what the step does.
	Title string
	// Run fails, naming what it waited for and what it saw last, when the result is
	// not there in time.
	Run func(context.Context) error
}

// Scenario runs on one fleet, once.
type Scenario struct {
	fleet *env.Fleet
	view  *View
	log   func(string)
	set   string // the ApplicationSet's name

	latencies []Latency
	original  string // the guestbook before the commit that breaks it
}

// New returns the scenario of a fleet; log gets the lines that a person reads.
func New(fleet *env.Fleet, view *View, log func(string)) *Scenario {
	return &Scenario{fleet: fleet, view: view, log: log, set: ApplicationSet}
}

// Steps returns the steps in their order.
func (s *Scenario) Steps() []Step {
	steps := []Step{
		{"Deliver: apply the examples; the guestbook starts on every managed cluster", s.Deliver},
		{"Report: show the MulticlusterApplicationSetReport of the ApplicationSet", s.Show},
		{"Change: push a commit; its revision appears in the report", s.Change},
		{"Break: push a commit that cannot sync; the error appears on the hub", s.Break},
		{"Fix: push a commit that can sync; every Application is Synced and Healthy again", s.Fix},
		{"Move: retarget one Application to the other cluster", s.Move},
		{"Withdraw: delete the ApplicationSet; hub and managed clusters hold nothing of it", s.Withdraw},
	}
	if s.fleet.GitOpsClusters() {
		return slices.Concat([]Step{{"Register: a GitOpsCluster registers the clusters of its Placement with Argo CD", s.Register}}, steps,
			[]Step{{"Unregister: delete the GitOpsClusters; they are gone once their cluster Secrets are", s.Unregister}})
	}
	return steps
}

// application returns the name that the example gives to a cluster's Application.
func application(cluster string) string { return cluster + "-" + ApplicationSet }

func (s *Scenario) logf(format string, args ...any) { s.log(fmt.Sprintf(format, args...)) }
