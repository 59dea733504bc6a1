// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// SetWords are the annotations of an ApplicationSet that outlive it.
type SetWords struct {
	UID         types.UID         `json:"uid"`
	Annotations map[string]string `json:"annotations"`
}

// Words are those of all ApplicationSets that have any, by the group that they decide
// about. They are stored beside the [Records].
type Words map[Group]SetWords

// Observe takes over what an ApplicationSet has of the keys, in place of what one of its
// name had before, and returns whether that is something else.
func (w Words) Observe(set Group, uid types.UID, annotations map[string]string, keys ...string) (changed bool) {
	kept := map[string]string{}
	for _, key := range keys {
		if value := annotations[key]; strings.TrimSpace(value) != "" {
			kept[key] = value
		}
	}
	before, had := w[set]
	if len(kept) == 0 {
		delete(w, set)
		return had
	}
	w[set] = SetWords{UID: uid, Annotations: kept}
	return before.UID != uid || !maps.Equal(before.Annotations, kept)
}

// Prune forgets those ApplicationSets that are gone, when their time has passed or nothing
// is left of them.
func (w Words) Prune(gone, empty func(Group) bool, now time.Time) {
	maps.DeleteFunc(w, func(g Group, s SetWords) bool {
		if !gone(g) {
			return false
		}
		for _, value := range s.Annotations {
			if !ended(value, now) {
				return empty(g)
			}
		}
		return true
	})
}

// ended reports whether the time at the end of a value has passed.
func ended(value string, now time.Time) bool {
	fields := strings.Fields(value)
	if len(fields) != 3 || fields[1] != "until" {
		return false
	}
	until, err := time.Parse(time.RFC3339, fields[2])
	return err == nil && !until.After(now)
}

// mostOfNamespace is how many ApplicationSets of a namespace are stored at most: tenants
// write them.
const mostOfNamespace = 100

// Encode returns the words as they are stored, in limit bytes at most, and how many are
// left out: of each namespace those of the last names.
func (w Words) Encode(limit int) (text string, leftOut int, err error) {
	groups := slices.SortedFunc(maps.Keys(w), func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Set, b.Set))
	})
	for most := mostOfNamespace; most > 0; most /= 2 {
		kept, count := Words{}, map[string]int{}
		for _, g := range groups {
			if count[g.Namespace]++; count[g.Namespace] <= most {
				kept[g] = w[g]
			}
		}
		encoded, err := json.Marshal(kept)
		if err != nil || len(encoded) <= limit {
			return string(encoded), len(w) - len(kept), err
		}
	}
	return "", len(w), nil
}

// DecodeWords reads stored words; "" is none.
func DecodeWords(text string) (Words, error) {
	w := Words{}
	if text == "" {
		return w, nil
	}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return Words{}, fmt.Errorf("decode words of ApplicationSets: %w", err)
	}
	return w, nil
}
