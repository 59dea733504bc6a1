// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appstatus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrMalformed reports a status that Argo CD's CRD does not allow. No controller may overwrite it,
// because another writer owns it.
var ErrMalformed = errors.New("malformed Application status")

// Condition is an entry of an Application's status.conditions. An entry that was decoded keeps its
// bytes until one of its fields changes.
type Condition struct {
	Type               string       `json:"type"`
	Message            string       `json:"message"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// raw is the decoded entry, including fields that only a newer Argo CD has.
	raw json.RawMessage
}

// MarshalJSON returns the bytes of a decoded entry, or encodes the fields of a new one.
func (c Condition) MarshalJSON() ([]byte, error) {
	if c.raw != nil {
		return c.raw, nil
	}
	type plain Condition
	return json.Marshal(plain(c))
}

// Conditions returns the conditions of a raw status in their order. A missing status or list is not
// an error. If status.conditions is not a list of conditions, the error is [ErrMalformed].
func Conditions(status json.RawMessage) ([]Condition, error) {
	fields, err := object(status, "status")
	if err != nil {
		return nil, err
	}
	list := fields["conditions"]
	if empty(list) {
		return nil, nil
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, fmt.Errorf("%w: status.conditions: %w", ErrMalformed, err)
	}
	conditions := make([]Condition, len(entries))
	for i, entry := range entries {
		type plain Condition
		if err := json.Unmarshal(entry, (*plain)(&conditions[i])); err != nil || empty(entry) {
			return nil, fmt.Errorf("%w: status.conditions[%d]: %w", ErrMalformed, i, errors.Join(err, notAnObject(entry)))
		}
		conditions[i].raw = entry
	}
	return conditions, nil
}

// Merge replaces the conditions that owned accepts by the desired ones. Foreign conditions and
// unchanged owned conditions keep their position and their bytes. If a condition is new, or its
// message differs, it gets now as lastTransitionTime, unless it has one. The time has whole
// seconds, as the API server stores it. changed is false if the result equals current. The types in
// want must be unique.
func Merge(current []Condition, owned func(conditionType string) bool, want []Condition, now time.Time) (merged []Condition, changed bool) {
	stamp := metav1.NewTime(now.UTC().Truncate(time.Second))
	done := make([]bool, len(want))
	for _, c := range current {
		if !owned(c.Type) {
			merged = append(merged, c)
			continue
		}
		i := slices.IndexFunc(want, func(w Condition) bool { return w.Type == c.Type })
		switch {
		case i < 0 || done[i]: // not desired, or a duplicate
			changed = true
		case want[i].Message == c.Message:
			merged, done[i] = append(merged, c), true
		default:
			merged, done[i], changed = append(merged, stamped(want[i], stamp)), true, true
		}
	}
	for i, w := range want {
		if !done[i] {
			merged, changed = append(merged, stamped(w, stamp)), true
		}
	}
	return merged, changed
}

func stamped(c Condition, now metav1.Time) Condition {
	c.raw = nil
	if c.LastTransitionTime == nil {
		c.LastTransitionTime = &now
	}
	return c
}

// object decodes the members of a JSON object. Empty input and null decode to an empty object.
func object(raw json.RawMessage, path string) (map[string]json.RawMessage, error) {
	if empty(raw) {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, path, err)
	}
	return members, nil
}

func empty(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

func notAnObject(raw json.RawMessage) error {
	if empty(raw) {
		return errors.New("null is not a condition")
	}
	return nil
}
