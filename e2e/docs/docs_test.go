// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// files returns the files of the repository that match a pattern, including uncommitted files.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil && name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatalf("no file is called %s: the test proves nothing", pattern)
	}
	return names
}

func TestPages_haveNoBrokenLinks(t *testing.T) {
	for _, name := range files(t, "*.md") {
		broken, err := Broken(root, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range broken {
			t.Errorf("%s links to %s", name, b)
		}
	}
}

func TestBroken(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"docs/other.md": "# A *title*: with `code`, [link](x)\n\n## Twice\n\n## Twice\n\n```sh\n# not a heading\n```\n",
		"image.svg":     "",
		"from.md": strings.Join([]string{
			"# Here", "[file](docs/other.md) [folder](docs) ![image](image.svg) [text](image.svg \"title\") [out](https://example.com/x) [mail](mailto:a@example.com)",
			"[own](#here) [heading](docs/other.md#a-title-with-code-link) [second](docs/other.md#twice-1) [spaced](<docs/other.md>)", "[defined]: docs/other.md",
			"`[code](nowhere1)`", "```", "[fenced](nowhere2)", "```",
			"[a](missing.md) [b](docs/other.md#thrice) [c](../outside.md) [d](#not-a-heading)", "[e]: gone.md", "[f](docs/other.md#not-a-heading)",
		}, "\n"),
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broken, err := Broken(folder, "from.md")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, b := range broken {
		target, _, _ := strings.Cut(b, ":")
		targets = append(targets, target)
	}
	want := []string{"missing.md", "docs/other.md#thrice", "../outside.md", "#not-a-heading", "docs/other.md#not-a-heading", "gone.md"}
	if !slices.Equal(targets, want) {
		t.Errorf("broken are %q, want %q", broken, want)
	}
}

// Dependabot updates every module. Otherwise a module would become outdated without notice.
func TestDependabot_updatesEveryModule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, u := range config.Updates {
		if u.Ecosystem == "gomod" {
			patterns = append(patterns, u.Directories...)
		}
	}
	for _, name := range files(t, "*go.mod") {
		folder := "/" + path.Dir(name)
		if !slices.ContainsFunc(patterns, func(pattern string) bool {
			matched, err := path.Match(pattern, folder)
			return err == nil && matched
		}) {
			t.Errorf("%s is in no folder of .github/dependabot.yml: %q", name, patterns)
		}
	}
}

// Workflows pin actions to a commit, because a tag can be moved. CodeQL is GitHub's own scanner and may only
// write its findings, so workflows follow the tag of its major version.
func TestWorkflows_pinEveryAction(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses:\s*(.+)$`)
	pinned := regexp.MustCompile(`^(\./\S+|github/codeql-action/[a-z]+@v\d+|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	rights := regexp.MustCompile(`(?m)^permissions:( \{\}|\n  contents: read)$`)
	for _, name := range files(t, ".github/workflows/*.yaml") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !rights.Match(text) {
			t.Errorf("%s does not begin with no right or with reading alone; jobs ask for more", name)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s, want a commit with its version behind it", name, m[1])
			}
		}
	}
}
