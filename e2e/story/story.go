// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// ApplicationSet is the name of the example's ApplicationSet.
const ApplicationSet = "guestbook"

// Step is one chapter: it acts and then waits until what it promises is true.
type Step struct {
	// Title says what is about to happen.
	Title string
	// Run fails, saying what it waited for and what it saw last, when the promise
	// does not come true in time.
	Run func(context.Context) error
}

// Story is told on one fleet, once.
type Story struct {
	fleet *env.Fleet
	view  *View
	say   func(string)

	journeys []Journey
	original string // the guestbook before the commit that breaks it
}

// New returns the story of a fleet; say is told what a person wants to know.
func New(fleet *env.Fleet, view *View, say func(string)) *Story {
	return &Story{fleet: fleet, view: view, say: say}
}

// Steps returns the chapters in their order.
func (s *Story) Steps() []Step {
	return []Step{
		{"Deliver: apply the examples, and the guestbook comes up on every managed cluster", s.Deliver},
		{"Report: what the hub knows about the ApplicationSet", s.Show},
		{"Change: push a commit, and it travels to the report", s.Change},
		{"Break: push a commit that cannot sync, and the error arrives on the hub", s.Break},
		{"Mend: push a commit that can, and all is well again", s.Mend},
		{"Move: send one Application to the other cluster", s.Move},
		{"Withdraw: delete the ApplicationSet, and nothing is left", s.Withdraw},
	}
}

// application returns the name that the example gives to a cluster's Application.
func application(cluster string) string { return cluster + "-" + ApplicationSet }

func (s *Story) sayf(format string, args ...any) { s.say(fmt.Sprintf(format, args...)) }
