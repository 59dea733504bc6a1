// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	fence   = regexp.MustCompile("(?ms)^( *)(```|~~~).*?^ *(```|~~~) *$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	defined = regexp.MustCompile(`(?m)^ {0,3}\[[^\]]+\]:\s*(\S+)`)
	heading = regexp.MustCompile(`(?m)^#{1,6}\s+(.+?)\s*#*\s*$`)
	anchor  = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	styled  = regexp.MustCompile(`[*_]{1,2}(\S[^*_]*)[*_]{1,2}|\[([^\]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\p{M} _-]`)
)

// Links returns the targets of a Markdown text's links, without those in code.
func Links(text string) []string {
	text = code.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	var out []string
	for _, pattern := range []*regexp.Regexp{link, defined} {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// Anchors returns the possible fragments of a link into a Markdown text, as forges derive them from the
// headings.
func Anchors(text string) map[string]bool {
	text = fence.ReplaceAllString(text, "")
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		title := styled.ReplaceAllString(strings.ReplaceAll(m[1], "`", ""), "$1$2")
		slug := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		name := slug
		for n := 1; out[name]; n++ {
			name = fmt.Sprintf("%s-%d", slug, n)
		}
		out[name] = true
	}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
	}
	return out
}

// Broken returns the links without a target in the Markdown file at path, below root. It does not check links
// that lead out of the repository.
func Broken(root, path string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, target := range Links(string(text)) {
		parsed, err := url.Parse(target)
		if err != nil {
			out = append(out, target)
			continue
		}
		if parsed.Scheme != "" || parsed.Host != "" {
			continue
		}
		if why := follow(root, path, parsed); why != "" {
			out = append(out, target+": "+why)
		}
	}
	return out, nil
}

// follow returns why a relative link has no target, or "".
func follow(root, from string, target *url.URL) string {
	to := from
	if target.Path != "" {
		to = filepath.Join(filepath.Dir(from), filepath.FromSlash(target.Path))
	}
	if !filepath.IsLocal(to) {
		return "it leaves the repository"
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "there is no such file"
	}
	if target.Fragment == "" || filepath.Ext(to) != ".md" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, to))
	if err != nil {
		return err.Error()
	}
	if !Anchors(string(text))[target.Fragment] {
		return "the file has no such heading"
	}
	return ""
}
