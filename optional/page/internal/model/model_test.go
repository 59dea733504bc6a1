// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

// row returns an Application from "cluster health sync phase message".
func row(set, text string) *App {
	f := strings.SplitN(text, " ", 5)
	a := &App{AppFields: AppFields{
		Namespace: "argocd", Name: set + "-" + f[0], Set: set, Cluster: f[0], Work: "w-" + set,
		Health: OneOf(Healths, f[1], "Unknown"), Sync: f[2],
	}}
	if len(f) > 3 {
		a.Phase = f[3]
	}
	if len(f) > 4 {
		kind, message, _ := strings.Cut(f[4], ": ")
		a.Conditions, a.Stale = []v1alpha1.Condition{{Type: kind, Message: message}}, kind == Unreachable
	}
	return a
}

func setOf(name string, texts ...string) *Set {
	var rows []*App
	for _, text := range texts {
		rows = append(rows, row(name, text))
	}
	return newSet(key(name), rows, 1, nil)
}

// random returns ApplicationSets with Applications of every kind.
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

func TestRevisions(t *testing.T) {
	s := setOf("a", "c1 Healthy Synced", "c2 Healthy Synced", "c3 Healthy Synced")
	for i, revision := range []string{"v1.5", "v1.4", "v1.4"} {
		s.Rows[i].Revision = revision
	}
	if diff := cmp.Diff([]Revision{{"v1.4", 2}, {"v1.5", 1}}, s.Revisions()); diff != "" {
		t.Error(diff)
	}
}
