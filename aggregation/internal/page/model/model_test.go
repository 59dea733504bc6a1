// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// fleet is a source with a count of how often it is asked for rows.
type fleet struct {
	rows  map[types.NamespacedName][]*merge.Row
	asked int
}

func (f *fleet) Sets() (keys []types.NamespacedName) {
	for key := range f.rows {
		keys = append(keys, key)
	}
	return keys
}

func (f *fleet) Rows(key types.NamespacedName) ([]*merge.Row, []v1alpha1.ResourceRef) {
	f.asked++
	return f.rows[key], nil
}

func (f *fleet) Cluster(name string) status.Cluster { return status.Cluster{Name: name} }

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

func everything(string) bool { return true }

// row makes a row out of "cluster health sync phase message".
func row(set, text string) *merge.Row {
	f := strings.SplitN(text, " ", 5)
	a := merge.App{HubNamespace: "argocd", HubName: set + "-" + f[0], Cluster: f[0], Work: "w-" + set, Reported: true, Health: f[1], Sync: f[2]}
	if len(f) > 3 {
		a.OperationPhase = f[3]
	}
	if len(f) > 4 {
		kind, message, _ := strings.Cut(f[4], ": ")
		a.Conditions = []v1alpha1.Condition{{Type: kind, Message: message}}
	}
	return merge.NewRow(a, merge.Search{})
}

func setOf(name string, texts ...string) *Set {
	var rows []*merge.Row
	for _, text := range texts {
		rows = append(rows, row(name, text))
	}
	slices.SortFunc(rows, merge.Compare)
	return newSet(key(name), rows, nil, nil)
}

// random returns ApplicationSets with rows of every kind.
func random(dice *rand.Rand, sets, clusters int) (all []*Set) {
	pick := func(values []string) string { return values[dice.IntN(len(values))] }
	for s := range sets {
		var texts []string
		for c := range clusters {
			if dice.IntN(5) == 0 {
				continue
			}
			text := fmt.Sprintf("c%02d %s %s %s", c, pick(Healths), pick(Syncs), strings.TrimSuffix(pick(Phases), NoPhase))
			if dice.IntN(3) == 0 {
				text += " SyncError: exceeded quota of " + strconv.Itoa(dice.IntN(9)) + pick([]string{" cores", " pods"})
			}
			texts = append(texts, text)
		}
		all = append(all, setOf(fmt.Sprintf("set%02d", s), texts...))
	}
	return all
}

// The page says what the report says, field by field.
func TestCountsAreTheSummaryOfTheReport(t *testing.T) {
	for _, s := range random(rand.New(rand.NewPCG(1, 1)), 50, 12) {
		got := v1alpha1.ReportSummary{
			Clusters: strconv.Itoa(s.Clusters), Synced: strconv.Itoa(s.Counts.Applications - s.Counts.OutOfSync()), NotSynced: strconv.Itoa(s.Counts.OutOfSync()),
			Healthy: strconv.Itoa(s.Counts.Healthy()), NotHealthy: strconv.Itoa(s.Counts.NotHealthy()), InProgress: strconv.Itoa(s.Counts.Of("Progressing")),
		}
		if diff := cmp.Diff(merge.Summarize(s.Rows), got); diff != "" {
			t.Errorf("%s: %s", s.Key, diff)
		}
	}
}

func TestRevisions(t *testing.T) {
	s := setOf("a", "c1 Healthy Synced", "c2 Healthy Synced", "c3 Healthy Synced")
	for i, revision := range []string{"v1.5", "v1.4", "v1.4"} {
		s.Rows[i].SyncRevision = revision
	}
	if diff := cmp.Diff([]Revision{{"v1.4", 2}, {"v1.5", 1}}, s.Revisions()); diff != "" {
		t.Error(diff)
	}
}
