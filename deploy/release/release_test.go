// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/bundle"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

// publisher is a checkout with a registry to publish to.
type publisher struct {
	root, registry string
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	return &publisher{root: checkout(t), registry: serve(t) + "/somewhere"}
}

// make makes a release and returns its folder.
func (p *publisher) make(t *testing.T, version string, more ...string) (string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	arguments := []string{
		"make", "-root", p.root, "-out", out, "-version", version, "-architectures", runtime.GOARCH,
		"-registry", p.registry, "-kustomize", tool(t, "kustomize"),
	}
	return out, run(t.Context(), append(arguments, more...))
}

func (p *publisher) publish(t *testing.T, version string) string {
	t.Helper()
	out, err := p.make(t, version)
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"push", "-from", filepath.Join(out, "images"), "-registry", p.registry,
		"-chart", filepath.Join(out, "files", bundle.ChartFile(version)), "-helm", tool(t, "helm")}
	for range 2 { // a push that broke off is repeated
		if err := run(t.Context(), arguments); err != nil {
			t.Fatal(err)
		}
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

func TestRelease_publishesEveryPart(t *testing.T) {
	p := newPublisher(t)
	tree, err := source.Open(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	version := tree.Version
	out := p.publish(t, version)
	t.Run("images", func(t *testing.T) { imagesAreWhole(t, filepath.Join(out, "images"), tree) })
	t.Run("made in another folder it is the same", func(t *testing.T) { p.isTheSameElsewhere(t, out, version) })
	t.Run("files", func(t *testing.T) { filesAreWhole(t, filepath.Join(out, "files"), version) })
	t.Run("signatures", func(t *testing.T) { p.imagesAreSigned(t, out) })
	t.Run("manifests", func(t *testing.T) { p.manifestsRunTheImages(t, out) })
	t.Run("chart", func(t *testing.T) { p.chartRunsTheImages(t, out, version) })
	t.Run("OLM bundle", func(t *testing.T) { p.olmIsWhole(t, out, version) })
}

// isTheSameElsewhere makes a release of the same commit at another path.
func (p *publisher) isTheSameElsewhere(t *testing.T, out, version string) {
	elsewhere := &publisher{root: checkout(t), registry: p.registry}
	again, err := elsewhere.make(t, version)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := read(t, filepath.Join(out, "files", "SHA256SUMS")), read(t, filepath.Join(again, "files", "SHA256SUMS")); a != b {
		t.Errorf("the files, images.txt among them, differ:\n%s\n%s", a, b)
	}
}

func TestRelease_refuses(t *testing.T) {
	p := newPublisher(t)
	tree, err := source.Open(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	version := tree.Version
	git(t, p.root, "tag", "v"+version+"-rc.1")
	p.change(t, "README.md", "# ", "#  ")
	for _, c := range []struct {
		reason, version, says string
		more                  []string
	}{
		{"two numbers are no semantic version", "1.2", "no semantic version", nil},
		{"the tag's v is not the version's", "v" + version, "no semantic version", nil},
		{"the binaries would report another version", "99.0.0", "the containers are at version " + version, nil},
		{"the tag is on another commit", version + "-rc.1", "tag v" + version + "-rc.1 is at", nil},
		{"a name without a registry is anybody's", version, "name the registry", []string{"-registry", ""}},
	} {
		if _, err := p.make(t, c.version, c.more...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error with %q", c.reason, err, c.says)
		}
	}
	p.change(t, "CHANGELOG.md", "## "+version, "## of another version")
	if _, err := p.make(t, version); err == nil || !strings.Contains(err.Error(), `no section "## `+version) {
		t.Errorf("nobody would know what changed: %v", err)
	}
	p.change(t, "deploy/release/go.mod", "toolchain go1.", "toolchain go1.0")
	if _, err := p.make(t, version); err == nil || !strings.Contains(err.Error(), "deploy/release/go.mod pins toolchain go1.0") {
		t.Errorf("another Go gives other digests: %v", err)
	}
	if err := os.WriteFile(filepath.Join(p.root, "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.make(t, version); err == nil || !strings.Contains(err.Error(), "commit or stash") {
		t.Errorf("a checkout with a file that is not committed: %v", err)
	}
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
