// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSort_putsTheWorstFirst(t *testing.T) {
	lost := " " + Unreachable + ": cluster is not available"
	s := setOf("guestbook",
		"a Healthy Synced Succeeded", "b Suspended Synced Succeeded", "c Healthy OutOfSync Succeeded", "d Progressing Synced Running",
		"e Healthy Synced Failed", "f Unknown Unknown "+lost, "g Unknown Unknown", "h Missing OutOfSync Failed", "i Degraded Synced Succeeded",
		"j Healthy Synced Succeeded SharedResourceWarning: a part of another", "k Healthy Synced Succeeded ComparisonError: no such path", "l Odd Synced")
	items := Items([]*Set{s}, "")
	Sort(items, Query{Sort: SortWorst})
	var order strings.Builder
	for _, i := range items {
		order.WriteString(i.Row.Cluster)
	}
	if got := order.String(); got != "ihglfekdcbaj" {
		t.Errorf("the order is %s", got)
	}
}

// The worst ApplicationSets are first, by their share of unhealthy Applications. A healthy
// ApplicationSet that is OutOfSync or has a failed operation is before a healthy, synced
// ApplicationSet.
func TestCompareSets_ordersByUnhealthyShare(t *testing.T) {
	sets := []*Set{
		setOf("empty"), setOf("fine", "a Healthy Synced"), setOf("half", "a Healthy Synced", "b Missing Synced"),
		setOf("half-of-four", "a Healthy Synced", "b Missing Synced", "c Healthy Synced", "d Missing Synced"),
		setOf("all", "a Degraded Synced"), setOf("also-all", "a Degraded Synced"),
		setOf("drifted", "a Healthy OutOfSync"), setOf("failed", "a Healthy OutOfSync Failed", "b Healthy Synced"), setOf("erred", "a Healthy Synced Error"),
	}
	slices.SortFunc(sets, CompareSets)
	var names []string
	for _, s := range sets {
		names = append(names, s.Key.Name)
	}
	if got := strings.Join(names, " "); got != "all also-all half-of-four half erred failed drifted fine empty" {
		t.Errorf("the order is %s", got)
	}
}

func TestClusters_countOnlyTheirOwnRows(t *testing.T) {
	sets := []*Set{setOf("a", "c1 Degraded Synced", "c2 Healthy Synced"), setOf("b", "c2 Healthy Synced", "c3 Healthy OutOfSync")}
	var got []string
	for _, c := range Clusters(sets) {
		got = append(got, fmt.Sprintf("%s %d of %d, %d sets", c.Name, c.Counts.NotHealthy(), c.Counts.Applications, c.Sets))
	}
	if diff := cmp.Diff([]string{"c1 1 of 1, 1 sets", "c3 0 of 1, 1 sets", "c2 0 of 2, 2 sets"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(Items(sets, "c2")); n != 2 {
		t.Errorf("%d Applications on c2", n)
	}
}
