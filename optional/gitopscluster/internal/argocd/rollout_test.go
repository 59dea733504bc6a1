// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestNext(t *testing.T) {
	states := func(phases ...Phase) map[string]State {
		m := map[string]State{}
		for i, p := range phases {
			m[string(rune('a'+i))] = State{Phase: p}
		}
		return m
	}
	const o, p, f, r = PhaseOutdated, PhaseProgressing, PhaseFailed, PhaseReady
	for name, c := range map[string]struct {
		states map[string]State
		max    intstr.IntOrString
		want   []string
		failed []string
	}{
		"none":                                  {states(), intstr.FromInt32(1), nil, nil},
		"one at a time":                         {states(o, o, o), intstr.FromInt32(1), []string{"a"}, nil},
		"one of another name is under way":      {states(o, o, p), intstr.FromInt32(1), nil, nil},
		"one may come beside it":                {states(o, o, p), intstr.FromInt32(2), []string{"a"}, nil},
		"a quarter, and one at least":           {states(o, o), intstr.FromString("25%"), []string{"a"}, nil},
		"half":                                  {states(r, o, o, o), intstr.FromString("50%"), []string{"b", "c"}, nil},
		"the first failed":                      {states(f, o, o, o), intstr.FromInt32(3), nil, []string{"a"}},
		"the last failed":                       {states(o, o, r, f), intstr.FromInt32(3), nil, []string{"d"}},
		"all are ready":                         {states(r, r), intstr.FromInt32(1), nil, nil},
		"who has one of its own takes no place": {states(PhaseFound, PhaseLooking, PhaseAbsent, o), intstr.FromInt32(1), []string{"d"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, failed, err := Next(c.states, c.max)
			if err != nil || !slices.Equal(got, c.want) || !slices.Equal(failed, c.failed) {
				t.Errorf("next are %v, failed %v, %v; want %v, %v", got, failed, err, c.want, c.failed)
			}
		})
	}
}
