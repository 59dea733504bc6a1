// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
	"unique"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Cause is a condition without the parts that differ between Applications. Two causes with the same
// type and text are equal.
type Cause struct{ handle unique.Handle[cause] }

type cause struct{ hash, kind, text string }

// Hash returns the identity of the cause in addresses.
func (s Cause) Hash() string { return s.handle.Value().hash }

// Type returns the type of the condition.
func (s Cause) Type() string { return s.handle.Value().kind }

// Text returns the message, with a gap for every part that differs between Applications.
func (s Cause) Text() string { return s.handle.Value().text }

// Warning reports whether it is a warning, and not an error.
func (s Cause) Warning() bool { return IsWarning(s.Type()) }

// NewCause returns the cause of a condition of an Application.
func NewCause(c v1alpha1.Condition, a *App) Cause {
	text := c.Message
	if c.Type == Unreachable {
		// The last report differs between Applications and is not a part of the error.
		text, _, _ = strings.Cut(text, status.LastReport)
		text, _, _ = strings.Cut(text, status.NeverReported)
	}
	text = generalize(text, a.Cluster, a.Name, a.Namespace)
	// Managed clusters write the text. None of them may be able to choose one with the hash of
	// another cause.
	sum := sha256.Sum256([]byte(c.Type + "\x00" + text))
	return Cause{unique.Make(cause{hash: hex.EncodeToString(sum[:16]), kind: c.Type, text: text})}
}

func causesOf(a *App) []Cause {
	all := make([]Cause, 0, len(a.Conditions))
	for _, c := range a.Conditions {
		if s := NewCause(c, a); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// maxCause is how many bytes of a message count.
const maxCause = 600

// gap replaces a part that differs.
const gap = "…"

// These parts differ between two messages about the same error, in addition to names.
var (
	quoted    = regexp.MustCompile("\"[^\" ,]+\"|'[^' ,]+'|`[^` ,]+`")
	uuid      = regexp.MustCompile(`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)
	generated = regexp.MustCompile(`(?:-[a-z0-9]*[0-9][a-z0-9]*)+\b`)                                                    // the end of a Pod's name
	figures   = regexp.MustCompile(`\b(?:[0-9]\w*|[a-f]+[0-9][0-9a-f]*)(?:[.:/_-](?:[0-9]\w*|[a-f]+[0-9][0-9a-f]*))*\b`) // also times, addresses and hashes
	numbered  = regexp.MustCompile(`\b([a-zA-Z]{2,})[0-9]+\b`)
	joined    = regexp.MustCompile(gap + `(?:[.:/_-]{0,3}` + gap + `)+`)
)

// generalize replaces the given names, quoted names, numbers, times, addresses and hashes in a
// message by gaps.
func generalize(text string, names ...string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxCause {
		text = text[:maxCause]
		for !utf8.ValidString(text) && len(text) > maxCause-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // a name may be a part of another
	for _, name := range names {
		if len(name) > 2 {
			text = replaceWord(text, name)
		}
	}
	text = quoted.ReplaceAllStringFunc(text, func(s string) string { return s[:1] + gap + s[len(s)-1:] })
	text = uuid.ReplaceAllString(text, gap)
	text = generated.ReplaceAllString(text, "-"+gap)
	text = figures.ReplaceAllString(text, gap)
	text = numbered.ReplaceAllString(text, "${1}"+gap)
	return joined.ReplaceAllString(text, gap)
}

// replaceWord replaces each occurrence of a name as a whole word by a gap.
func replaceWord(text, name string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, name)
		if at < 0 {
			return out.String() + text
		}
		end := at + len(name)
		whole := (at == 0 || !alphanumeric(text[at-1])) && (end == len(text) || !alphanumeric(text[end]))
		out.WriteString(text[:at])
		if whole {
			out.WriteString(gap)
		} else {
			out.WriteString(name)
		}
		text = text[end:]
	}
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
