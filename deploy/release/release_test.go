// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

// publisher is a checkout with a key and a registry to publish to.
type publisher struct {
	root, registry, key string
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	t.Setenv(passwordVariable, "of a key that is thrown away")
	keys := t.TempDir()
	if err := run(t.Context(), []string{"key", "-out", keys}); err != nil {
		t.Fatal(err)
	}
	return &publisher{root: checkout(t), registry: serve(t, true) + "/somewhere", key: filepath.Join(keys, "cosign.key")}
}

// make makes a release and returns its folder.
func (p *publisher) make(t *testing.T, version string, more ...string) (string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	arguments := []string{
		"make", "-root", p.root, "-out", out, "-version", version, "-architectures", runtime.GOARCH,
		"-registry", p.registry, "-key", p.key, "-kustomize", tool(t, "kustomize"),
	}
	return out, run(t.Context(), append(arguments, more...))
}

func (p *publisher) publish(t *testing.T, version string, more ...string) string {
	t.Helper()
	out, err := p.make(t, version, more...)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"push", "-from", filepath.Join(out, "images"), "-registry", p.registry}); err != nil {
		t.Fatal(err)
	}
	return out
}

// change replaces text in a file of the checkout and commits that.
func (p *publisher) change(t *testing.T, file, old, replacement string) {
	t.Helper()
	path := filepath.Join(p.root, file)
	before := read(t, path)
	after := strings.Replace(before, old, replacement, 1)
	if after == before {
		t.Fatalf("%s does not hold %q", file, old)
	}
	if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
		t.Fatal(err)
	}
	commit(t, p.root)
}

func TestRelease(t *testing.T) {
	p := newPublisher(t)
	tree, err := source.Open(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	version := versionOf(t, tree, "propagation")
	out := p.publish(t, version)
	t.Run("images", func(t *testing.T) { imagesAreWhole(t, filepath.Join(out, "images"), tree) })
	t.Run("made in another folder it is the same", func(t *testing.T) { p.isTheSameElsewhere(t, out, version) })
	t.Run("files", func(t *testing.T) { filesAreWhole(t, filepath.Join(out, "files"), version) })
	t.Run("signatures", func(t *testing.T) { p.imagesAreSigned(t, out) })
	t.Run("manifests", func(t *testing.T) { p.manifestsRunTheImages(t, out) })
	t.Run("chart", func(t *testing.T) { p.chartRunsTheImages(t, out, version) })
	t.Run("OLM bundle", func(t *testing.T) { p.olmIsWhole(t, out, version) })
	t.Run("one container alone", func(t *testing.T) { p.releasesOneAlone(t, out, tree) })
}

// isTheSameElsewhere makes a release of the same commit at another path.
func (p *publisher) isTheSameElsewhere(t *testing.T, out, version string) {
	elsewhere := &publisher{root: checkout(t), registry: p.registry, key: p.key}
	again, err := elsewhere.make(t, version)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"images.txt", "SHA256SUMS", "SHA256SUMS.sig"} {
		if a, b := read(t, filepath.Join(out, "files", file)), read(t, filepath.Join(again, "files", file)); a != b {
			t.Errorf("%s differs:\n%s\n%s", file, a, b)
		}
	}
	folder := filepath.Join(t.TempDir(), "images")
	if err := run(t.Context(), []string{"images", "-root", elsewhere.root, "-out", folder, "-architectures", runtime.GOARCH, "-containers", "aggregation"}); err != nil {
		t.Fatal(err)
	}
	tag := elsewhere.versionOf(t, "aggregation")
	_, released := imageOf(t, filepath.Join(out, "images"), "multicluster-integrations/aggregation", tag)
	_, alone := imageOf(t, folder, "multicluster-integrations/aggregation", tag)
	if a, b := digestOf(t, released), digestOf(t, alone); a != b {
		t.Errorf("aggregation is released as %s and built as %s", a, b)
	}
}

// releasesOneAlone releases a newer propagation alone and then all: the others are
// taken as they are. It changes the checkout.
func (p *publisher) releasesOneAlone(t *testing.T, before string, tree *source.Tree) {
	old, alone := versionOf(t, tree, "propagation"), "8.0.0"
	p.change(t, "CHANGELOG.md", "\n## ", "\n## propagation "+alone+"\n\n* Something.\n\n## ")
	p.change(t, "propagation/internal/command/command.go", `const Version = "`+old+`"`, `const Version = "`+alone+`"`)
	out := p.publish(t, alone, "-containers", "propagation")
	if _, err := os.Stat(filepath.Join(out, "files", "install.yaml")); err == nil {
		t.Error("the release of one container has manifests of all")
	}
	want := read(t, filepath.Join(out, "files", "images.txt"))
	for _, line := range strings.SplitAfter(read(t, filepath.Join(before, "files", "images.txt")), "\n") {
		if !strings.Contains(line, "/propagation:") && !strings.Contains(line, olmImage) {
			want += line
		}
	}
	p.change(t, "CHANGELOG.md", "\n## ", "\n## 9.0.0\n\n* All of them.\n\n## ")
	all, err := p.make(t, "9.0.0")
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, filepath.Join(all, "files", "images.txt"))
	if !strings.Contains(got, olmImage+"9.0.0@") {
		t.Errorf("the release of all has no OLM bundle of its own:\n%s", got)
	}
	got = regexp.MustCompile(`.*`+olmImage+`.*\n`).ReplaceAllString(got, "")
	if !slices.Equal(sortedLines(got), sortedLines(want)) {
		t.Errorf("the release of all has the images\n%s, want those that were released\n%s", got, want)
	}
	p.runsTheImages(t, "install.yaml", read(t, filepath.Join(all, "files", "install.yaml")), all)
	if _, err := p.make(t, "9.0.0", "-key", newPublisher(t).key); err == nil || !strings.Contains(err.Error(), "not made by this key") {
		t.Errorf("an image signed by somebody else: %v", err)
	}
	p.change(t, "aggregation/main.go", "func main()", "// A change.\nfunc main()")
	if _, err := p.make(t, "9.0.0"); err == nil || !strings.Contains(err.Error(), "raise the version in aggregation/internal/command/command.go") {
		t.Errorf("a change under a version that is released: %v", err)
	}
}

func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}

func TestReleaseRefuses(t *testing.T) {
	p := newPublisher(t)
	version := strings.TrimSpace(p.versionOf(t, "propagation"))
	git(t, p.root, "tag", "v"+version+"-rc.1")
	p.change(t, "README.md", "# ", "#  ")
	for _, c := range []struct {
		reason, version, says string
		more                  []string
	}{
		{"two numbers are no semantic version", "1.2", "no semantic version", nil},
		{"the tag's v is not the version's", "v" + version, "no semantic version", nil},
		{"nobody would know what changed", "99.0.0", `no section "## 99.0.0"`, nil},
		{"the tag is on another commit", version + "-rc.1", "tag v" + version + "-rc.1 is at", nil},
		{"the binary would report another version", "99.0.0", "propagation is at version " + version, []string{"-containers", "propagation"}},
		{"there is no such container", version, "there are aggregation, gitopscluster, propagation, rendered, resourcesync", []string{"-containers", "shared"}},
		{"a key of another kind", version, "not PEM of type", []string{"-key", filepath.Join(filepath.Dir(p.key), "cosign.pub")}},
	} {
		if _, err := p.make(t, c.version, c.more...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error with %q", c.reason, err, c.says)
		}
	}
	if err := os.WriteFile(filepath.Join(p.root, "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.make(t, version); err == nil || !strings.Contains(err.Error(), "commit or stash") {
		t.Errorf("a checkout with a file that is not committed: %v", err)
	}
}

func (p *publisher) versionOf(t *testing.T, container string) string {
	t.Helper()
	tree, err := source.Open(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	return versionOf(t, tree, container)
}

func versionOf(t *testing.T, tree *source.Tree, container string) string {
	t.Helper()
	c, err := tree.Container(container)
	if err != nil {
		t.Fatal(err)
	}
	return c.Version
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// tool is the path of a part that `make tools` builds.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
