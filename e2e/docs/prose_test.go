// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	sentenceWords = 25
	cellWords     = 40
	// longSentences and longCells are the permitted numbers of longer ones in all pages together. Lower them
	// with each page that is rewritten.
	longSentences = 5
	longCells     = 0
	howToLines    = 120
)

// pages returns the pages for users. The decision records are for maintainers.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range append(files(t, "docs/*.md"), "README.md") {
		if path.Dir(name) != "docs/decisions" {
			out = append(out, name)
		}
	}
	return out
}

func TestSentences_areShort(t *testing.T) {
	all := 0
	var list strings.Builder
	for _, name := range pages(t) {
		for _, sentence := range sentencesOver(read(t, name), sentenceWords) {
			all++
			list.WriteString(name + ": " + sentence + "\n")
		}
	}
	if all > longSentences {
		t.Errorf("%d sentences have more than %d words, want at most %d: cut yours in two, a semicolon does not count\n%s", all, sentenceWords, longSentences, list.String())
	}
}

func TestCells_areShort(t *testing.T) {
	var all []string
	for _, name := range pages(t) {
		for _, cell := range cellsOver(read(t, name), cellWords) {
			all = append(all, name+": "+cell)
		}
	}
	if len(all) > longCells {
		t.Errorf("%d cells of tables have more than %d words, want at most %d:\n%s", len(all), cellWords, longCells, strings.Join(all, "\n"))
	}
}

// Readers use a how-to page during other work, so it has to be short. Flags that make generate writes do not
// count.
func TestHowToPages_areShort(t *testing.T) {
	for _, name := range []string{
		"private-repositories", "from-basic-pull", "migrate-appsubscription", "push", "placement", "liveview", "rendered", "argocd-on-clusters", "deletion-budget",
		"install", "install-rhacm", "upgrade", "uninstall", "search", "monitoring", "hand-over", "restore", "move-a-hub", "page",
		"gitopscluster", "argocd-agent", "pull-and-argocd-agent", "progressive-delivery", "kargo",
	} {
		text := generated.ReplaceAllString(read(t, "docs/"+name+".md"), "")
		if n := strings.Count(text, "\n"); n > howToLines {
			t.Errorf("docs/%s.md has %d lines, want at most %d", name, n, howToLines)
		}
	}
}

func TestSentencesOver(t *testing.T) {
	text := strings.Join([]string{
		"# a heading of five words", "one two three four five. one two.", "", "| one two three four five |", "```", "one two three four five", "```",
		"one two: three four; five six", "* one two three", "* four five", "  six seven", "**one two.** three four", "(one two three four.) five",
	}, "\n")
	got := sentencesOver(text, 3)
	want := []string{"one two three four five.", "one two: three four; five six", "four five six seven **one two.**", "three four (one two three four.)"}
	if !slices.Equal(got, want) {
		t.Errorf("long are %q, want %q", got, want)
	}
}

func TestCellsOver(t *testing.T) {
	got := cellsOver("| one two | three four five |\n|---|---|\n| six `a|b` seven eight | nine |\n\none two three four\n", 2)
	if want := []string{"three four five", "six `a|b` seven eight"}; !slices.Equal(got, want) {
		t.Errorf("long are %q, want %q", got, want)
	}
}
