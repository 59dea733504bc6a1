// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package quickstart

import (
	"regexp"
	"strings"
)

// notTested is the start of the first line of a block that the tests cannot run.
const notTested = "# Not tested: needs "

// Block is a fenced block of commands on a page, with the output that the page shows.
type Block struct {
	// Line is the line of the page where the block begins.
	Line           int
	Commands, want string
}

// tested reports whether the tests run the block.
func (b Block) tested() bool { return !strings.HasPrefix(b.Commands, notTested) }

var fenced = regexp.MustCompile("(?ms)^ *```(sh|text)\n(.*?)^ *```$")

// Blocks returns the blocks of commands on a page, including those in lists. A block of text that follows
// commands, with only blank lines between, is their output.
func Blocks(page string) []Block {
	var out []Block
	end := 0
	for _, m := range fenced.FindAllStringSubmatchIndex(page, -1) {
		language, content := page[m[2]:m[3]], page[m[4]:m[5]]
		switch {
		case language == "sh":
			out = append(out, Block{Line: 1 + strings.Count(page[:m[0]], "\n"), Commands: content})
		case len(out) > 0 && strings.TrimSpace(page[end:m[0]]) == "":
			out[len(out)-1].want = content
		}
		end = m[1]
	}
	return out
}

// agrees reports whether an output equals the output on the page. It ignores the amount of space, and "…"
// matches any text, including line breaks.
func agrees(want, got string) bool {
	parts := strings.Split(fold(want), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(p))
	}
	return regexp.MustCompile(`^` + strings.Join(parts, `(?s:.*)`) + `$`).MatchString(fold(got))
}

// fold returns a text with one space between words.
func fold(text string) string { return strings.Join(strings.Fields(text), " ") }
