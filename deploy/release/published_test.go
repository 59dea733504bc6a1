// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// filesAreWhole checks the downloadable files as a user would.
func filesAreWhole(t *testing.T, folder, version string) {
	sums := read(t, filepath.Join(folder, "SHA256SUMS"))
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(read(t, filepath.Join(folder, e.Name())))), e.Name()); !strings.Contains(sums, want) {
			t.Errorf("SHA256SUMS does not say %s", want)
		}
	}
	if got, want := strings.Count(sums, "\n"), len(entries)-1; got != want || got < 8 {
		t.Errorf("SHA256SUMS has %d lines for %d files", got, want)
	}
	if notes := read(t, filepath.Join(folder, "RELEASE_NOTES.md")); !strings.Contains(notes, "The first release") || strings.Contains(notes, "# Changelog") {
		t.Errorf("the notes are not the changelog's section of %s:\n%s", version, notes)
	}
}

// imagesAreSigned signs with a key as the workflow signs without one, and verifies with the commands of
// docs/release.md. cosign itself, from the pinned module, does both.
func (p *publisher) imagesAreSigned(t *testing.T, out string) {
	t.Setenv("COSIGN_PASSWORD", "of a key that is thrown away")
	cosign, keys, files := tool(t, "cosign"), t.TempDir(), filepath.Join(out, "files")
	command(t, cosign, "generate-key-pair", "--output-key-prefix", filepath.Join(keys, "ours"))
	command(t, cosign, "generate-key-pair", "--output-key-prefix", filepath.Join(keys, "other"))
	command(t, "bash", "sign.sh", cosign, files, filepath.Join(keys, "ours.key"))
	if given := read(t, filepath.Join(files, "cosign.pub")); given != read(t, filepath.Join(keys, "ours.pub")) {
		t.Errorf("the public key among the files is another:\n%s", given)
	}
	list := filepath.Join(files, "images.txt")
	first, _, _ := strings.Cut(read(t, list), "\n")
	image := regexp.MustCompile(`:[^:/]*@`).ReplaceAllString(first, "@")
	for key, verifies := range map[string]bool{"ours": true, "other": false} {
		public := filepath.Join(keys, key+".pub")
		for _, line := range strings.Fields(read(t, list)) {
			image := regexp.MustCompile(`:[^:/]*@`).ReplaceAllString(line, "@")
			if _, err := try(t, cosign, "verify", "--key", public, "--insecure-ignore-tlog", image); (err == nil) != verifies {
				t.Errorf("%s with the public key %s: %v", image, key, err)
			}
		}
		sums := []string{"verify-blob", "--key", public, "--insecure-ignore-tlog", "--bundle", filepath.Join(files, "SHA256SUMS.sigstore.json")}
		if _, err := try(t, cosign, append(sums, filepath.Join(files, "SHA256SUMS"))...); (err == nil) != verifies {
			t.Errorf("the checksums with the public key %s: %v", key, err)
		}
		if _, err := try(t, cosign, append(sums, list)...); err == nil {
			t.Errorf("the signature of the checksums is one of another file, too, with %s", key)
		}
	}
	other := regexp.MustCompile(`@sha256:.*`).ReplaceAllString(image, "@sha256:"+strings.Repeat("0", 64))
	if _, err := try(t, cosign, "verify", "--key", filepath.Join(keys, "ours.pub"), "--insecure-ignore-tlog", other); err == nil {
		t.Error("an image that is not there verifies")
	}
}

var imageLine = regexp.MustCompile(`(?m)^ +image: "?([^"\n]*)"?$`)

// olmImage is the one image that is not run. optionalImage is an image that only a component runs.
const (
	olmImage      = "/olm-bundle:"
	optionalImage = "/gitopscluster:"
)

// pinned are the images that every installation of a release runs, by their digests, sorted.
func (p *publisher) pinned(t *testing.T, out string) []string {
	t.Helper()
	var images []string
	for _, line := range strings.Fields(read(t, filepath.Join(out, "files", "images.txt"))) {
		if strings.Contains(line, olmImage) || strings.Contains(line, optionalImage) || strings.Contains(line, "/liveview:") || strings.Contains(line, "/page:") || strings.Contains(line, "/placement:") || strings.Contains(line, "/rendered:") {
			continue
		}
		images = append(images, regexp.MustCompile(`:[^:/]*@`).ReplaceAllString(line, "@"))
	}
	if len(images) < 3 {
		t.Fatalf("images.txt lists %q, want those of all containers", images)
	}
	slices.Sort(images)
	return images
}

// runsTheImages fails unless every image of rendered manifests is one of the release, in the registry.
func (p *publisher) runsTheImages(t *testing.T, what, rendered, out string) {
	t.Helper()
	var images []string
	for _, m := range imageLine.FindAllStringSubmatch(rendered, -1) {
		images = append(images, m[1])
	}
	want := p.pinned(t, out)
	for _, image := range images {
		if !slices.Contains(want, image) {
			t.Errorf("%s runs %s, want one of %q", what, image, want)
		}
	}
	if slices.Sort(images); len(slices.Compact(images)) < 3 {
		t.Errorf("%s runs %q, want three containers at least", what, images)
	}
	for _, image := range images {
		reference, err := name.NewDigest(image)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Head(reference, remote.WithContext(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

func (p *publisher) manifestsRunTheImages(t *testing.T, out string) {
	for _, file := range []string{"install.yaml", "install-ha.yaml", "install-rhacm.yaml", "install-rhacm-ha.yaml"} {
		p.runsTheImages(t, file, read(t, filepath.Join(out, "files", file)), out)
	}
	archives, err := filepath.Glob(filepath.Join(out, "files", "*-kustomize-*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives of the kustomize folders: %q, %v", archives, err)
	}
	folder := t.TempDir()
	command(t, "tar", "-xzf", archives[0], "-C", folder, "--strip-components=1")
	tagged := regexp.MustCompile(`registry\.invalid|image: .*multicluster-integrations/[a-z]+:`)
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && tagged.MatchString(read(t, path)) {
			t.Errorf("%s in the archive names an image by its tag", strings.TrimPrefix(path, folder))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	p.runsTheImages(t, "the archive's overlay", command(t, tool(t, "kustomize"), "build", filepath.Join(folder, "overlays", "rhacm")), out)
}

func (p *publisher) chartRunsTheImages(t *testing.T, out, version string) {
	folder := t.TempDir()
	command(t, tool(t, "helm"), "pull", "oci://"+p.registry+"/charts/multicluster-integrations", "--version", version, "--plain-http", "-d", folder)
	archive := filepath.Join(folder, "multicluster-integrations-"+version+".tgz")
	if pulled, made := read(t, archive), read(t, filepath.Join(out, "files", filepath.Base(archive))); pulled != made {
		t.Error("the chart in the registry is not the one among the files")
	}
	p.runsTheImages(t, "the chart", command(t, tool(t, "helm"), "template", "x", archive, "--kube-version", "1.34.0"), out)
	if shown := command(t, tool(t, "helm"), "show", "chart", archive); !strings.Contains(shown, "version: "+version) {
		t.Errorf("the chart says of itself:\n%s", shown)
	}
}

func command(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	out, err := try(t, program, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(t *testing.T, program string, arguments ...string) (string, error) {
	t.Helper()
	var errs bytes.Buffer
	c := exec.CommandContext(t.Context(), program, arguments...)
	c.Stderr = &errs
	home := t.TempDir()
	c.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "TUF_ROOT="+home)
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %q: %w\n%s", program, arguments, err, errs.Bytes())
	}
	return string(out), err
}
