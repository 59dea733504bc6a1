// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"regexp"
	"strings"
)

// Section returns the part of a changelog below the heading of a version: "## 1.2.3",
// with a date behind it or not. The notes of a pre-release are those of its version.
func Section(changelog, heading string) (string, error) {
	start := regexp.MustCompile(`(?m)^## \[?` + regexp.QuoteMeta(heading) + `\]?( .*)?$`).FindStringIndex(changelog)
	if start == nil {
		return "", fmt.Errorf("CHANGELOG.md has no section %q; write what changed for those who upgrade", "## "+heading)
	}
	section := changelog[start[1]:]
	if end := regexp.MustCompile(`(?m)^## `).FindStringIndex(section); end != nil {
		section = section[:end[0]]
	}
	section = strings.TrimSpace(section)
	if section == "" {
		return "", fmt.Errorf("the section %q of CHANGELOG.md is empty", "## "+heading)
	}
	return section + "\n", nil
}

// notes are the release notes: the changelog's section, the images and how to verify
// them.
func (r *release) notes(section string, references []Reference) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n## Images\n\n| container | image |\n|---|---|\n", section)
	for _, reference := range references {
		fmt.Fprintf(&out, "| %s %s | `%s` |\n", reference.Container, reference.Tag, reference.Pinned())
	}
	if r.Key == nil {
		return []byte(out.String())
	}
	out.WriteString("\n## Verify\n\n```sh\n" +
		"cosign verify-blob --key cosign.pub --signature SHA256SUMS.sig --insecure-ignore-tlog SHA256SUMS && sha256sum -c SHA256SUMS\n")
	for _, reference := range references {
		fmt.Fprintf(&out, "cosign verify --key cosign.pub --insecure-ignore-tlog %s\n", reference.Pinned())
	}
	out.WriteString("```\n")
	return []byte(out.String())
}
