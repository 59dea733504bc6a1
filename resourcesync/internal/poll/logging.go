// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"slices"
	"strings"
)

// changes has the last log text about each subject, so that a poll logs only subjects that have
// changed since the previous poll.
type changes map[string]string

// differ records a text about a subject and reports whether it differs from the last one,
// which is "" at first.
func (c changes) differ(subject, text string) bool {
	before := c[subject]
	c[subject] = text
	return before != text
}

// news records a list about a subject. It returns the names if they differ from the last ones, and
// "" otherwise or without names.
func (c changes) news(subject string, list []string) string {
	slices.Sort(list)
	if text := names(list); c.differ(subject, text) {
		return text
	}
	return ""
}

// names lists a few of many.
func names(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
