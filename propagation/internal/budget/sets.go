// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// sets are the deletion-budget annotations that outlive their ApplicationSets: hold and undo, until
// they expire. Without them, deleting an ApplicationSet would end the hold on its Applications.
type sets map[decide.Group]string

// observe replaces the recorded value of an ApplicationSet by its present value, and reports
// whether they differ.
func (s sets) observe(set decide.Group, value string, now time.Time) (changed bool) {
	before := s[set]
	if r := overrideOf(set, value, now); r.Word.Keeps() && !r.Until.IsZero() {
		s[set] = value
	} else {
		delete(s, set)
	}
	return s[set] != before
}

// override returns the override that a deleted ApplicationSet has left.
func (s sets) override(set decide.Group, now time.Time) decide.Override {
	r := overrideOf(set, s[set], now)
	r.Gone = r.Word != decide.None
	return r
}

func overrideOf(set decide.Group, value string, now time.Time) decide.Override {
	r, err := decide.ParseOverride(value, argocd.ApplicationSetKind+" "+set.Namespace+"/"+set.Set, now)
	if err != nil {
		r.Until = time.Time{} // an invalid value never expires, and does not outlive its object
	}
	return r
}

// prune removes overrides that have expired.
func (s sets) prune(now time.Time) {
	maps.DeleteFunc(s, func(set decide.Group, value string) bool { return overrideOf(set, value, now).Word == decide.None })
}

// storedSet is the stored form of one ApplicationSet.
type storedSet struct {
	Annotations map[string]string `json:"annotations"`
}

// mostOfNamespace limits how many ApplicationSets of one namespace are stored, because tenants
// write them.
const mostOfNamespace = 100

// encode returns the stored form in limit bytes at most, and how many ApplicationSets are left out.
// In each namespace the last ones by name are left out first.
func (s sets) encode(limit int) (text string, leftOut int, err error) {
	groups := slices.SortedFunc(maps.Keys(s), compareGroups)
	for most := mostOfNamespace; most > 0; most /= 2 {
		kept, count := map[decide.Group]storedSet{}, map[string]int{}
		for _, g := range groups {
			if count[g.Namespace]++; count[g.Namespace] <= most {
				kept[g] = storedSet{Annotations: map[string]string{contract.DeletionBudgetAnnotation: s[g]}}
			}
		}
		encoded, err := json.Marshal(kept)
		if err != nil || len(encoded) <= limit {
			return string(encoded), len(s) - len(kept), err
		}
	}
	return "{}", len(s), nil
}

// decodeSets decodes the stored form. "" decodes to no sets.
func decodeSets(text string) (sets, error) {
	s, stored := sets{}, map[decide.Group]storedSet{}
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return s, fmt.Errorf("decode annotations of ApplicationSets: %w", err)
	}
	for g, set := range stored {
		if value := set.Annotations[contract.DeletionBudgetAnnotation]; value != "" {
			s[g] = value
		}
	}
	return s, nil
}
