// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"cmp"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const operationError = "OperationError"

// conditions returns the errors and warnings, sorted by type. An OperationError
// that says once more what another condition says is dropped.
func conditions(all []search.Condition) []intermediate.Condition {
	var out []intermediate.Condition
	for _, c := range all {
		if strings.HasSuffix(c.Type, "Error") || strings.HasSuffix(c.Type, "Warning") {
			out = append(out, intermediate.Condition{Type: c.Type, Message: c.Message})
		}
	}
	slices.SortFunc(out, func(a, b intermediate.Condition) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Message, b.Message))
	})
	out = slices.Compact(out)
	every := slices.Clone(out) // DeleteFunc moves what it looks at
	return slices.DeleteFunc(out, func(c intermediate.Condition) bool {
		return c.Type == operationError && repeated(c.Message, every)
	})
}

// repeated tells whether another condition carries the reason of an operation's
// message. Argo CD wraps one message into the other ("Failed sync attempt to
// <revision>: <message> (retried 5 times)."), and search cuts both at 512 runes.
func repeated(message string, all []intermediate.Condition) bool {
	reason := strings.TrimSuffix(message, "...")
	if _, after, found := strings.Cut(reason, "reason: "); found {
		reason = after
	}
	if i := strings.LastIndex(reason, " (retried "); i > 0 {
		reason = reason[:i]
	}
	reason = strings.TrimSpace(strings.TrimRight(reason, ". "))
	if reason == "" {
		return false
	}
	for _, c := range all {
		if c.Type == operationError {
			continue
		}
		if strings.Contains(c.Message, reason) {
			return true
		}
		// The other message may be cut inside the reason.
		if cut, is := strings.CutSuffix(c.Message, "..."); is {
			if _, tail, found := strings.Cut(cut, "reason: "); found && tail != "" && strings.HasPrefix(reason, tail) {
				return true
			}
		}
	}
	return false
}
