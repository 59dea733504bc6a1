// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
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
	for _, not := range []string{"chart", "release", "generate.sh", "install.yaml"} {
		if err := os.RemoveAll(filepath.Join(deploy, not)); err != nil {
			return err
		}
	}
	if err := pin(filepath.Join(deploy, "base", "kustomization.yaml"), references); err != nil {
		return err
	}
	overlays, err := filepath.Glob(filepath.Join(deploy, "overlays", "*"))
	if err != nil {
		return err
	}
	for _, overlay := range overlays {
		rendered, err := r.render(ctx, overlay)
		if err != nil {
			return err
		}
		for _, reference := range references {
			if !bytes.Contains(rendered, []byte("image: "+reference.Pinned()+"\n")) {
				return fmt.Errorf("%s, rendered, does not run %s", overlay, reference.Pinned())
			}
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

// pin adds the digests to a kustomization.
func pin(path string, references []Reference) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var parsed map[string]any
	if err := yaml.Unmarshal(content, &parsed); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	if _, there := parsed["images"]; there {
		return fmt.Errorf("%s sets images already; the release does", path)
	}
	type image struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		Digest  string `json:"digest"`
	}
	var images []image
	for _, r := range references {
		images = append(images, image{r.Name, r.Published, r.Digest.String()})
	}
	added, err := yaml.Marshal(map[string]any{"images": images})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(append(bytes.TrimRight(content, "\n"), '\n'), added...), 0o644)
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
