// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// sets are the annotations that outlive their ApplicationSets: hold and undo, until they expire, and
// the deletion policy orphan. Without them, deleting an ApplicationSet would end the hold on its
// Applications, and prune those whose ManifestWorks do not have the policy yet.
type sets map[decide.Group]storedSet

// storedSet has the annotations of one ApplicationSet.
type storedSet struct {
	Annotations map[string]string `json:"annotations"`
}

// observe replaces the recorded annotations of an ApplicationSet by its present ones, and reports
// whether they differ.
func (s sets) observe(set decide.Group, annotations map[string]string, now time.Time) (changed bool) {
	before, kept := s[set].Annotations, map[string]string{}
	delete(s, set)
	if w := left(set, annotations, now); w != nil {
		if w.Override.Effect != decide.None {
			kept[contract.DeletionBudgetAnnotation] = annotations[contract.DeletionBudgetAnnotation]
		}
		if w.Policy.Value != "" {
			kept[contract.DeletionPolicyAnnotation] = w.Policy.Value
		}
		s[set] = storedSet{kept}
	}
	return !maps.Equal(before, kept)
}

// left returns which annotations of a deleted ApplicationSet still have an effect, or nil. An invalid
// override ends with its ApplicationSet, because it never expires.
func left(set decide.Group, annotations map[string]string, now time.Time) *decide.Annotations {
	w := &decide.Annotations{On: set.String(), Gone: true}
	if r, err := decide.ParseOverride(annotations[contract.DeletionBudgetAnnotation], w.On, now); err == nil && r.Effect.Keeps() {
		w.Override, w.Override.Gone = r, true
	}
	if p := policy.ParseDeletionPolicy(annotations[contract.DeletionPolicyAnnotation], w.On, true); p.Value == payload.DeletionOrphan {
		w.Policy = p
	}
	if !w.Override.Gone && w.Policy.Value == "" {
		return nil
	}
	return w
}

// prune removes what has expired, and what concerns no delivery.
func (s sets) prune(now time.Time, concerns func(set decide.Group) bool) {
	maps.DeleteFunc(s, func(set decide.Group, stored storedSet) bool {
		return left(set, stored.Annotations, now) == nil || !concerns(set)
	})
}

// mostOfNamespace limits how many ApplicationSets of one namespace are stored, because tenants
// write them.
const mostOfNamespace = 100

// encode returns the stored form in limit bytes at most, and how many ApplicationSets are left out.
// In each namespace those without an override are left out first, and then the last ones by name.
func (s sets) encode(limit int) (text string, leftOut int, err error) {
	groups := slices.SortedFunc(maps.Keys(s), func(a, b decide.Group) int {
		return cmp.Or(cmp.Compare(s.overrides(b), s.overrides(a)), compareGroups(a, b))
	})
	for most := mostOfNamespace; most > 0; most /= 2 {
		kept, count := sets{}, map[string]int{}
		for _, g := range groups {
			if count[g.Namespace]++; count[g.Namespace] <= most {
				kept[g] = s[g]
			}
		}
		encoded, err := json.Marshal(kept)
		if err != nil || len(encoded) <= limit {
			return string(encoded), len(s) - len(kept), err
		}
	}
	return "{}", len(s), nil
}

// overrides returns 1 for an ApplicationSet with an override, else 0.
func (s sets) overrides(set decide.Group) int {
	return min(1, len(s[set].Annotations[contract.DeletionBudgetAnnotation]))
}

// decodeSets decodes the stored form. "" decodes to no sets.
func decodeSets(text string) (sets, error) {
	s := sets{}
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return sets{}, fmt.Errorf("decode annotations of ApplicationSets: %w", err)
	}
	return s, nil
}
