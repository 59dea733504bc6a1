// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unique"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/message"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Cause is a condition without what differs between Applications. Two with the same type
// and text are the same.
type Cause struct{ handle unique.Handle[cause] }

type cause struct{ hash, kind, text string }

// Hash names it in addresses.
func (s Cause) Hash() string { return s.handle.Value().hash }

// Type is the condition's.
func (s Cause) Type() string { return s.handle.Value().kind }

// Text is the message with a gap for all that differs between Applications.
func (s Cause) Text() string { return s.handle.Value().text }

// Warning reports whether it is one, and no error.
func (s Cause) Warning() bool { return IsWarning(s.Type()) }

// NewCause returns that of a condition; names are those that do not matter.
func NewCause(c v1alpha1.Condition, names ...string) Cause {
	text := c.Message
	if c.Type == string(status.ClusterUnreachable) {
		// What was last reported differs, and is not what went wrong.
		text, _, _ = strings.Cut(text, status.LastReport)
		text, _, _ = strings.Cut(text, status.NeverReported)
	}
	text = message.Generalize(text, names...)
	// A managed cluster chooses the text: it must not find one with the hash of another.
	sum := sha256.Sum256([]byte(c.Type + "\x00" + text))
	return Cause{unique.Make(cause{hash: hex.EncodeToString(sum[:16]), kind: c.Type, text: text})}
}

func causesOf(r *merge.Row) []Cause {
	id := IdentityOf(r)
	all := make([]Cause, 0, len(r.Conditions))
	for _, c := range r.Conditions {
		if s := NewCause(c, id.Cluster, id.Namespace, id.Name); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
