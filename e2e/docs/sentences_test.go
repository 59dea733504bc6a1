// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
)

var (
	// generated is the text that make generate writes into a page.
	generated = regexp.MustCompile(`(?s)<!-- flags of \w+ -->.*?<!-- end of flags -->`)
	item      = regexp.MustCompile(`^\s*(?:[*-]|\d+\.) `)
	// sentenceEnd has no colon and no semicolon, because a sentence that continues after them is hard to
	// read.
	sentenceEnd = regexp.MustCompile(`[.!?][*)"]* `)
)

// sentencesOver returns the sentences of a Markdown text with more than limit words. It ignores headings,
// tables and code blocks. An item of a list begins a sentence.
func sentencesOver(text string, limit int) []string {
	var out []string
	var paragraph []string
	end := func() {
		joined := strings.Join(paragraph, " ") + " "
		paragraph = nil
		for len(joined) > 0 {
			at := len(joined)
			if m := sentenceEnd.FindStringIndex(joined); m != nil {
				at = m[1]
			}
			if words := strings.Fields(joined[:at]); len(words) > limit {
				out = append(out, strings.Join(words, " "))
			}
			joined = joined[at:]
		}
	}
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
			end()
			continue
		}
		if item.MatchString(line) {
			end()
		}
		paragraph = append(paragraph, item.ReplaceAllString(line, ""))
	}
	end()
	return out
}

// cellsOver returns the cells of a Markdown text's tables with more than limit words.
func cellsOver(text string, limit int) []string {
	var out []string
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
			if len(strings.Fields(cell)) > limit {
				out = append(out, strings.TrimSpace(cell))
			}
		}
	}
	return out
}
