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

// sets are the deletion-budget annotations of ApplicationSets that outlive them: hold and
// undo, until their end. An ApplicationSet is deleted together with the Applications that its
// hold keeps.
type sets map[decide.Group]string

// observe takes over what an ApplicationSet says, in place of what one of its name said
// before, and reports whether that is something else.
func (s sets) observe(set decide.Group, value string, now time.Time) (changed bool) {
	before := s[set]
	if r := overrideOf(set, value, now); r.Word.Keeps() && !r.Until.IsZero() {
		s[set] = value
	} else {
		delete(s, set)
	}
	return s[set] != before
}

// override returns what an ApplicationSet that is gone holds or undoes.
func (s sets) override(set decide.Group, now time.Time) decide.Override {
	r := overrideOf(set, s[set], now)
	r.Gone = r.Word != decide.None
	return r
}

func overrideOf(set decide.Group, value string, now time.Time) decide.Override {
	r, err := decide.ParseOverride(value, argocd.ApplicationSetKind+" "+set.Namespace+"/"+set.Set, now)
	if err != nil {
		r.Until = time.Time{} // an invalid value has no end, and does not outlive the object
	}
	return r
}

// prune forgets what has ended.
func (s sets) prune(now time.Time) {
	maps.DeleteFunc(s, func(set decide.Group, value string) bool { return overrideOf(set, value, now).Word == decide.None })
}

// storedSet is how one ApplicationSet is stored.
type storedSet struct {
	Annotations map[string]string `json:"annotations"`
}

// mostOfNamespace is how many ApplicationSets of a namespace are stored at most: tenants
// write them.
const mostOfNamespace = 100

// encode returns what is stored, in limit bytes at most, and how many are left out: of each
// namespace those of the last names.
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

// decodeSets reads what is stored; "" is nothing.
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
