// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// DeletionPolicy is what happens to the delivered objects when a delivery is removed.
type DeletionPolicy struct {
	// Value is [payload.DeletionPrune] or [payload.DeletionOrphan], or empty if the annotation has
	// neither.
	Value string
	// Abandon releases a deleted Application without waiting for its clusters.
	Abandon bool
	// Problem describes why the value is invalid. Nothing is removed then.
	Problem string
}

// ParseDeletionPolicy parses the annotation of the object that on names. ofSet is true for an
// ApplicationSet, which cannot abandon.
func ParseDeletionPolicy(value, on string, ofSet bool) (p DeletionPolicy) {
	if value == "" {
		return p
	}
	for word := range strings.SplitSeq(value, ",") {
		switch word = strings.TrimSpace(word); {
		case word == payload.DeletionAbandon && !p.Abandon && !ofSet:
			p.Abandon = true
		case (word == payload.DeletionPrune || word == payload.DeletionOrphan) && p.Value == "":
			p.Value = word
		default:
			want := payload.DeletionPrune + " or " + payload.DeletionOrphan
			if !ofSet {
				want += ", or one of them with " + payload.DeletionAbandon + " after a comma"
			}
			return DeletionPolicy{Problem: fmt.Sprintf("annotation %s of %s is %.100q: want %s; without it a removal prunes", contract.DeletionPolicyAnnotation, on, value, want)}
		}
	}
	return p
}
