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
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/sign"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// Request is what is to be released.
type Request struct {
	Options
	// Version of the release, as a semantic version.
	Version string
	// Container is released alone, when it is named.
	Container string
	// Registry is where the images will be, with a path below its host; empty: the
	// manifests name the images without a registry.
	Registry string
	// Key signs; nil: nothing is signed.
	Key *sign.Key
	// Kustomize is the path of kustomize.
	Kustomize string
	// Out is the folder to write to, in place of what is there: files/ for people,
	// images/ for the registry.
	Out string
}

type release struct {
	Request
	tree *source.Tree
	// sums are checksums by file.
	sums map[string]string
}

var semantic = regexp.MustCompile(`^(\d+\.\d+\.\d+)(-[0-9A-Za-z.-]+)?$`)

// Release makes a release of a clean checkout and returns its images.
func Release(ctx context.Context, tree *source.Tree, q Request) ([]Reference, error) {
	r := &release{Request: q, tree: tree, sums: map[string]string{}}
	section, err := r.check(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(r.Out); err != nil {
		return nil, err
	}
	containers := tree.Containers
	if r.Container != "" {
		c, err := tree.Container(r.Container)
		if err != nil {
			return nil, err
		}
		containers = []source.Container{c}
	}
	var references []Reference
	for _, c := range containers {
		reference, err := r.image(ctx, c)
		if err != nil {
			return nil, err
		}
		references = append(references, reference)
	}
	if r.Container == "" {
		if references, err = r.whole(ctx, references); err != nil {
			return nil, err
		}
	}
	return references, r.finish(section, references)
}

// check refuses what must not be released, and returns what the changelog says.
func (r *release) check(ctx context.Context) (string, error) {
	m := semantic.FindStringSubmatch(r.Version)
	if m == nil {
		return "", fmt.Errorf("%q is no semantic version such as 1.2.3 or 1.2.3-rc.1", r.Version)
	}
	if r.tree.Dirty() {
		return "", fmt.Errorf("the checkout is at %s: commit or stash what differs, a release is made of a commit", r.tree.Revision)
	}
	r.Suffix = m[2]
	tag, heading := "v"+r.Version, m[1]
	if r.Container != "" {
		c, err := r.tree.Container(r.Container)
		if err != nil {
			return "", err
		}
		if c.Version != m[1] {
			return "", fmt.Errorf("%s is at version %s in %s/internal/command/command.go, not %s", c.Name, c.Version, c.Name, m[1])
		}
		tag, heading = c.Name+"/"+tag, c.Name+" "+heading
	}
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
	return Section(string(changelog), heading)
}

// image builds, describes and signs the image of a container, unless the registry has
// this version already: then that one is released again as it is.
func (r *release) image(ctx context.Context, c source.Container) (Reference, error) {
	reference := r.reference(c.Name, c.Version+r.Suffix)
	released, err := r.released(ctx, reference)
	if err != nil {
		return reference, err
	}
	if released != nil {
		reference.Digest = *released
		return reference, nil
	}
	built, err := Build(ctx, r.tree, c, r.Options)
	if err != nil {
		return reference, err
	}
	return r.publish(built)
}

func (r *release) reference(name, tag string) Reference {
	reference := Reference{Container: name, Name: Project + "/" + name, Tag: tag}
	reference.Published = strings.TrimPrefix(r.Registry+"/"+reference.Name, "/")
	return reference
}

// publish writes an image's layout, what is said about it, and both signed.
func (r *release) publish(built *Image) (Reference, error) {
	reference := r.reference(built.Container.Name, built.Tag)
	var err error
	if reference.Digest, err = built.Index.Digest(); err != nil {
		return reference, err
	}
	name := reference.Container + "-" + reference.Tag
	for architecture, sbom := range built.SBOMs {
		if err := r.file(name+"-linux-"+architecture+".spdx.json", sbom); err != nil {
			return reference, err
		}
	}
	if err := r.file(name+".intoto.json", built.Provenance); err != nil {
		return reference, err
	}
	entries := built.Entries()
	if r.Key != nil {
		signature, err := r.Key.Image(reference.Published, reference.Digest)
		if err != nil {
			return reference, err
		}
		statement, err := r.Key.Statement(built.Provenance, reference.Digest)
		if err != nil {
			return reference, err
		}
		entries = append(entries, signature, statement)
	}
	return reference, store.Write(filepath.Join(r.Out, "images", filepath.FromSlash(reference.Name)), entries...)
}

// whole adds what a release of all containers has: manifests, chart and OLM bundle, whose
// image is one more.
func (r *release) whole(ctx context.Context, references []Reference) ([]Reference, error) {
	if err := r.manifests(ctx, references); err != nil {
		return nil, err
	}
	if err := r.chart(references); err != nil {
		return nil, err
	}
	reference, err := r.olm(ctx)
	return append(references, reference), err
}

// finish writes the list of images, the notes, the checksums and their signature.
func (r *release) finish(section string, references []Reference) error {
	var images strings.Builder
	for _, reference := range references {
		fmt.Fprintf(&images, "%s:%s@%s\n", reference.Published, reference.Tag, reference.Digest)
	}
	if err := r.file("images.txt", []byte(images.String())); err != nil {
		return err
	}
	if err := r.file("RELEASE_NOTES.md", r.notes(section, references)); err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.sums)) {
		fmt.Fprintf(&lines, "%s  %s\n", r.sums[name], name)
	}
	sums := []byte(lines.String())
	if err := r.write("SHA256SUMS", sums); err != nil || r.Key == nil {
		return err
	}
	signature, err := r.Key.Sign(sums)
	if err != nil {
		return err
	}
	public, err := r.Key.Public()
	if err != nil {
		return err
	}
	return errors.Join(r.write("SHA256SUMS.sig", []byte(signature)), r.write("cosign.pub", public))
}

// file writes a file that people download, and remembers its checksum.
func (r *release) file(name string, content []byte) error {
	r.sums[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	return r.write(name, content)
}

func (r *release) write(name string, content []byte) error {
	folder := filepath.Join(r.Out, "files")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), content, 0o644)
}
