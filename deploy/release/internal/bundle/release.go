// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

// Request describes a release.
type Request struct {
	Options
	// Version is the semantic version of the release.
	Version string
	// Registry is the registry of the images, with a path below its host.
	Registry string
	// Kustomize is the path of the kustomize program.
	Kustomize string
	// Out is the folder to write. files/ is for people, images/ is for the registry. Both are replaced,
	// and other content of the folder stays.
	Out string
}

type release struct {
	Request
	tree *source.Tree
	// files are the files to download, by name.
	files map[string][]byte
}

var semantic = regexp.MustCompile(`^(\d+\.\d+\.\d+)(-[0-9A-Za-z.-]+)?$`)

// Release makes a release of a clean checkout and returns its images.
func Release(ctx context.Context, tree *source.Tree, q Request) ([]Reference, error) {
	r := &release{Request: q, tree: tree, files: map[string][]byte{}}
	r.Tag = r.Version
	section, err := r.check(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.clear(); err != nil {
		return nil, err
	}
	var references []Reference
	for _, c := range tree.Containers {
		reference, err := Build(ctx, tree, c, r.images(), r.Options)
		if err != nil {
			return nil, err
		}
		references = append(references, r.published(reference))
	}
	if err := r.manifests(ctx, references); err != nil {
		return nil, err
	}
	if err := r.chart(references); err != nil {
		return nil, err
	}
	bundle, err := r.olm()
	if err != nil {
		return nil, err
	}
	references = append(references, r.published(bundle))
	return references, r.finish(section, references)
}

func (r *release) images() string { return filepath.Join(r.Out, "images") }

func (r *release) downloads() string { return filepath.Join(r.Out, "files") }

// clear removes the files that an earlier run has left.
func (r *release) clear() error {
	return errors.Join(os.RemoveAll(r.images()), os.RemoveAll(r.downloads()))
}

func (r *release) published(reference Reference) Reference {
	reference.Published = r.Registry + "/" + reference.Published
	return reference
}

// check returns an error if the checkout must not be released, or the section of the changelog.
func (r *release) check(ctx context.Context) (string, error) {
	m := semantic.FindStringSubmatch(r.Version)
	switch {
	case m == nil:
		return "", fmt.Errorf("%q is no semantic version such as 1.2.3 or 1.2.3-rc.1", r.Version)
	case m[1] != r.tree.Version:
		return "", fmt.Errorf("the containers are at version %s, not %s: raise it in */internal/command/command.go", r.tree.Version, m[1])
	case r.Registry == "":
		return "", fmt.Errorf("name the registry that the images will be in: without one a name is one of docker.io, where anybody may take it")
	case r.tree.Dirty():
		return "", fmt.Errorf("the checkout is at %s: commit or stash what differs, a release is made of a commit", r.tree.Revision)
	}
	if err := toolchain(ctx, r.tree.Root); err != nil {
		return "", err
	}
	tag := "v" + r.Version
	commit, err := r.tree.CommitOf(ctx, tag)
	if err != nil {
		return "", err
	}
	if commit != "" && commit != r.tree.Revision {
		return "", fmt.Errorf("tag %s is at %s, the checkout at %s: check the tag out, or give the release a new version", tag, commit, r.tree.Revision)
	}
	changelog, err := os.ReadFile(filepath.Join(r.tree.Root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	return Section(string(changelog), m[1])
}

var toolchainLine = regexp.MustCompile(`(?m)^toolchain (go\S+)$`)

// toolchain rejects another Go than the one in go.mod of this module, because the same commit must
// give the same images.
func toolchain(ctx context.Context, root string) error {
	content, err := os.ReadFile(filepath.Join(root, "deploy", "release", "go.mod"))
	if err != nil {
		return err
	}
	pinned := toolchainLine.FindSubmatch(content)
	if pinned == nil {
		return fmt.Errorf("deploy/release/go.mod pins no toolchain")
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return fmt.Errorf("go env GOVERSION: %w", err)
	}
	if got := strings.TrimSpace(string(out)); got != string(pinned[1]) {
		return fmt.Errorf("this is %s, and deploy/release/go.mod pins toolchain %s: set GOTOOLCHAIN=%[2]s, or move the pin", got, pinned[1])
	}
	return nil
}

// finish writes the files, with the list of images, the notes and the checksums.
func (r *release) finish(section string, references []Reference) error {
	var images, notes, sums strings.Builder
	fmt.Fprintf(&notes, "%s\n## Images\n\n", section)
	for _, reference := range references {
		fmt.Fprintf(&images, "%s:%s@%s\n", reference.Published, reference.Tag, reference.Digest)
		fmt.Fprintf(&notes, "* `%s`\n", reference.Pinned())
	}
	notes.WriteString("\nHow to verify and install them: docs/release.md.\n")
	r.files["images.txt"], r.files["RELEASE_NOTES.md"] = []byte(images.String()), []byte(notes.String())
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(r.files[name]), name)
	}
	r.files["SHA256SUMS"] = []byte(sums.String())
	return writeFiles(r.downloads(), r.files)
}

// Section returns the part of a changelog below the heading of a version: "## 1.2.3", optionally
// with a date. The notes of a pre-release are the notes of its version.
func Section(changelog, version string) (string, error) {
	start := regexp.MustCompile(`(?m)^## \[?` + regexp.QuoteMeta(version) + `\]?( .*)?$`).FindStringIndex(changelog)
	if start == nil {
		return "", fmt.Errorf("CHANGELOG.md has no section %q; write what changed for those who upgrade", "## "+version)
	}
	section := changelog[start[1]:]
	if end := regexp.MustCompile(`(?m)^## `).FindStringIndex(section); end != nil {
		section = section[:end[0]]
	}
	if section = strings.TrimSpace(section); section == "" {
		return "", fmt.Errorf("the section %q of CHANGELOG.md is empty", "## "+version)
	}
	return section + "\n", nil
}
