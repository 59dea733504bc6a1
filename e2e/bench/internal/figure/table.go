// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"strings"
	"unicode/utf8"
)

// Table lays rows out as text, one line each, in Markdown that also reads well on
// a terminal.
func Table(rows []Row) string {
	lines := make([][]string, 1, 1+len(rows))
	lines[0] = []string{"what", "value", "target", "", "beside"}
	for _, r := range rows {
		lines = append(lines, []string{r.What, r.value(), r.target(), r.Verdict(), r.Beside})
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for _, width := range widths {
			b.WriteString("|" + strings.Repeat("-", width+2))
		}
		b.WriteString("|\n")
	}
	return b.String()
}
