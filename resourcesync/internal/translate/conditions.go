// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// maxConditions limits the conditions of an Application, in bytes. All conditions of Argo CD take a
// tenth of it, but a managed cluster may send any conditions.
const maxConditions = 8 << 10

// conditions returns the errors and warnings, sorted by type. It drops an OperationError that
// repeats another condition.
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
	every := slices.Clone(out) // DeleteFunc changes its argument
	size := 0
	return slices.DeleteFunc(out, func(c intermediate.Condition) bool {
		if size += quoted(c.Type) + quoted(c.Message); size > maxConditions {
			return true
		}
		return c.Type == status.OperationError && slices.ContainsFunc(every, func(other intermediate.Condition) bool {
			return status.RepeatsOperationError(c.Message, contract.Condition(other))
		})
	})
}

// quoted is the length of a text in JSON.
func quoted(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
			n += 6
		case r == '"', r == '\\':
			n += 2
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}
