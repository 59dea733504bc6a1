// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"strings"
	"unicode/utf8"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the longest strings of an entry. Names have the limit of Kubernetes, in bytes. Messages
// have twice the limit of search, in characters.
const (
	maxNamespace  = 63
	maxName       = 253
	maxKind       = 63
	maxAPIVersion = 253 + 1 + 63
	maxType       = 128
	maxMessage    = 1024
)

// cutMark ends a message that was cut, as search marks one.
const cutMark = "..."

// isToken reports whether s can be a name: not empty, not too long, without control
// characters and in valid UTF-8.
func isToken(s string, longest int) bool {
	return s != "" && len(s) <= longest && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return contract.IsControl(r, false) })
}

func isOptionalToken(s string, longest int) bool { return s == "" || isToken(s, longest) }

func (r *Resource) valid() bool {
	return isOptionalToken(r.APIVersion, maxAPIVersion) && isToken(r.Kind, maxKind) &&
		isOptionalToken(r.Namespace, maxNamespace) && isToken(r.Name, maxName)
}

func (a *Application) valid() bool {
	return isToken(a.Cluster, maxName) && isToken(a.Namespace, maxNamespace) && isToken(a.Name, maxName)
}

func (c *Condition) valid() bool { return isToken(c.Type, maxType) }

// boundMessage makes a text of any length and content fit for a report. The result is valid UTF-8,
// has at most maxMessage characters, and no control characters but line breaks and tabs.
func boundMessage(s string) string {
	s = strings.Map(func(r rune) rune {
		if contract.IsControl(r, true) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxMessage {
		return s
	}
	runes, end := 0, 0
	for i := range s {
		if runes == maxMessage-len(cutMark) {
			end = i
		}
		if runes == maxMessage {
			return s[:end] + cutMark
		}
		runes++
	}
	return s
}
