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

// Said is what an error says, whoever says it. Two with the same text are the same.
type Said struct{ handle unique.Handle[said] }

type said struct{ hash, kind, text string }

// Hash names it in addresses.
func (s Said) Hash() string { return s.handle.Value().hash }

// Type is the condition's.
func (s Said) Type() string { return s.handle.Value().kind }

// Text is the message with a gap for all that differs between Applications.
func (s Said) Text() string { return s.handle.Value().text }

// Warning reports whether it is one, and no error.
func (s Said) Warning() bool { return IsWarning(s.Type()) }

// NewSaid returns what a condition says; names are those that do not matter.
func NewSaid(c v1alpha1.Condition, names ...string) Said {
	text := c.Message
	if c.Type == string(status.ClusterUnreachable) {
		// What was last reported differs, and is not what went wrong.
		text, _, _ = strings.Cut(text, status.LastReport)
		text, _, _ = strings.Cut(text, status.NeverReported)
	}
	text = message.Generalize(text, names...)
	// A managed cluster chooses the text: it must not find one with the hash of another.
	sum := sha256.Sum256([]byte(c.Type + "\x00" + text))
	return Said{unique.Make(said{hash: hex.EncodeToString(sum[:16]), kind: c.Type, text: text})}
}

func saidBy(r *merge.Row) []Said {
	id := IdentityOf(r)
	all := make([]Said, 0, len(r.Conditions))
	for _, c := range r.Conditions {
		if s := NewSaid(c, id.Cluster, id.Namespace, id.Name); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
