// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Reference is an image of the release.
type Reference struct {
	// Container is the container's name.
	Container string
	// Name is the image's in deploy/; Published is where this release has it.
	Name, Published string
	Tag             string
	Digest          v1.Hash
}

// Pinned names the image by its digest.
func (r Reference) Pinned() string { return r.Published + "@" + r.Digest.String() }

// manifests writes what is applied with kubectl, with every image pinned: one file
// for each overlay, and the kustomize folders themselves as an archive.
func (r *release) manifests(ctx context.Context, references []Reference) error {
	deploy, err := os.MkdirTemp("", "manifests-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(deploy) }() // copies
	if err := os.CopyFS(deploy, os.DirFS(filepath.Join(r.tree.Root, "deploy"))); err != nil {
		return fmt.Errorf("copy deploy/: %w", err)
	}
	for _, not := range []string{"chart", "olm", "release", "generate.sh", "install.yaml"} {
		if err := os.RemoveAll(filepath.Join(deploy, not)); err != nil {
			return err
		}
	}
	if err := pin(deploy, references); err != nil {
		return err
	}
	overlays, err := filepath.Glob(filepath.Join(deploy, "overlays", "*"))
	if err != nil {
		return err
	}
	installed, err := alwaysInstalled(deploy, references)
	if err != nil {
		return err
	}
	for _, overlay := range overlays {
		rendered, err := r.render(ctx, overlay)
		if err != nil {
			return err
		}
		if found := tagged.Find(rendered); found != nil {
			return fmt.Errorf("%s, rendered, has %s without a digest", overlay, found)
		}
		name := "install-" + filepath.Base(overlay) + ".yaml"
		if err := r.file(strings.Replace(name, "-ocm.", ".", 1), rendered); err != nil {
			return err
		}
	}
	archive, err := pack(deploy, Project+"-"+r.Version, r.tree.Time)
	if err != nil {
		return fmt.Errorf("pack the manifests: %w", err)
	}
	return r.file(Project+"-kustomize-"+r.Version+".tgz", archive)
}

// tagged matches an image of this project that is not named by its digest.
var tagged = regexp.MustCompile(`image: ["']?([\w.:-]+/)*` + Project + `/[\w.-]+:[\w.-]+`)

// pin replaces the tags of the release's images by their digests in every file of a
// folder: also in those that no overlay renders, such as components and values for
// others' charts. It fails when an image of the release is in none of them.
func pin(folder string, references []Reference) error {
	files, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }() // a folder, read and written by now
	pinned := map[string]bool{}
	err = fs.WalkDir(files.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		before, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		after := before
		for _, r := range references {
			byTag := regexp.MustCompile(`(image: ["']?)` + regexp.QuoteMeta(r.Name) + `:[\w.-]+`)
			pinned[r.Name] = pinned[r.Name] || byTag.Match(after)
			after = byTag.ReplaceAll(after, []byte("${1}"+r.Pinned()))
		}
		if bytes.Equal(before, after) {
			return nil
		}
		return files.WriteFile(name, after, 0o644)
	})
	for _, r := range references {
		if err == nil && !pinned[r.Name] {
			err = fmt.Errorf("no manifest in deploy runs %s", r.Name)
		}
	}
	return err
}

func (r *release) render(ctx context.Context, overlay string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var errs bytes.Buffer
	command := exec.CommandContext(ctx, r.Kustomize, "build", overlay)
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("render %s with %s: %w\n%s", overlay, r.Kustomize, err, errs.Bytes())
	}
	return out, nil
}
