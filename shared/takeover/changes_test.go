// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestChangesAreRememberedForAWhile(t *testing.T) {
	for name, c := range map[string]struct {
		noted map[string]time.Duration // how long before they are taken
		want  []string
	}{
		"nothing":                     {},
		"of now":                      {noted: map[string]time.Duration{"a": 0, "b": 0}, want: []string{"a", "b"}},
		"as old as a Lease":           {noted: map[string]time.Duration{"a": window}, want: []string{"a"}},
		"of long ago, alone":          {noted: map[string]time.Duration{"a": 2*window + 1}},
		"of long ago, beside others":  {noted: map[string]time.Duration{"a": 3 * window, "b": window / 2, "c": 0}, want: []string{"b", "c"}},
		"for as long as it is needed": {noted: map[string]time.Duration{"a": window + window/2, "b": window / 4}, want: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			changes := &Changes{now: func() time.Time { return now }}
			taken := now.Add(time.Hour)
			for _, key := range slices.SortedFunc(maps.Keys(c.noted), func(a, b string) int { return int(c.noted[b] - c.noted[a]) }) {
				now = taken.Add(-c.noted[key])
				changes.Note(types.NamespacedName{Name: key})
			}
			now = taken
			if diff := cmp.Diff(c.want, names(changes.Take())); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			changes.Note(types.NamespacedName{Name: "late"})
			if got := changes.Take(); got != nil || changes.lately != nil {
				t.Errorf("it remembers %v after it was taken", got)
			}
		})
	}
}

// What a standby remembers must not grow with its age.
func TestChangesForget(t *testing.T) {
	now := time.Unix(0, 0)
	changes := &Changes{now: func() time.Time { return now }}
	for i := range 1000 {
		now = now.Add(window / 10)
		changes.Note(types.NamespacedName{Name: fmt.Sprint(i)})
		if n := len(changes.lately) + len(changes.before); n > 25 {
			t.Fatalf("it remembers %d changes of %s, ten a minute", n, 2*window)
		}
	}
}

func names(keys []types.NamespacedName) []string {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return names
}
