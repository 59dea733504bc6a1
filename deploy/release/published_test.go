// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/sign"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// filesAreWhole checks what people download, the way they would.
func filesAreWhole(t *testing.T, folder, version string) {
	sums := read(t, filepath.Join(folder, "SHA256SUMS"))
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "SHA256SUMS") || e.Name() == "cosign.pub" {
			continue
		}
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(read(t, filepath.Join(folder, e.Name())))), e.Name()); !strings.Contains(sums, want) {
			t.Errorf("SHA256SUMS does not say %s", want)
		}
	}
	if got, want := strings.Count(sums, "\n"), len(entries)-3; got != want {
		t.Errorf("SHA256SUMS has %d lines for %d files", got, want)
	}
	if !verified(t, folder, sums) || verified(t, folder, strings.Replace(sums, "install", "instill", 1)) {
		t.Error("the signature does not tell the checksums from others")
	}
	if notes := read(t, filepath.Join(folder, "RELEASE_NOTES.md")); !strings.Contains(notes, "The first release") || strings.Contains(notes, "# Changelog") {
		t.Errorf("the notes are not the changelog's section of %s:\n%s", version, notes)
	}
}

// verified verifies the signature of the checksums with nothing of ours: a public key
// and ECDSA.
func verified(t *testing.T, folder, sums string) bool {
	t.Helper()
	block, _ := pem.Decode([]byte(read(t, filepath.Join(folder, "cosign.pub"))))
	if block == nil {
		t.Fatal("cosign.pub is no PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(read(t, filepath.Join(folder, "SHA256SUMS.sig")))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(sums))
	return ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), sum[:], signature)
}

// imagesAreSigned looks for the signatures where cosign does.
func (p *publisher) imagesAreSigned(t *testing.T, out string) {
	text := []byte(read(t, p.key))
	key, err := sign.ReadKey(text, []byte(os.Getenv(passwordVariable)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sign.ReadKey(text, []byte("wrong")); err == nil {
		t.Error("the key opens with a wrong password")
	}
	other, _, err := sign.NewKey([]byte("another"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(read(t, filepath.Join(out, "files", "images.txt"))) {
		reference, err := name.NewDigest(regexp.MustCompile(`:[^:/]*@`).ReplaceAllString(line, "@"))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := v1.NewHash(reference.DigestStr())
		if err != nil {
			t.Fatal(err)
		}
		signatures, err := store.PullImage(t.Context(), reference.Context().Tag(sign.SignatureTag(digest)))
		if err != nil {
			t.Fatal(err)
		}
		if err := key.VerifyImage(signatures, digest); err != nil {
			t.Error(err)
		}
		if err := other.VerifyImage(signatures, digest); err == nil {
			t.Errorf("%s is signed by a key that never signed", line)
		}
		if err := key.VerifyImage(signatures, v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}); err == nil {
			t.Errorf("the signature of %s is one of another digest, too", line)
		}
	}
}

var imageLine = regexp.MustCompile(`(?m)^ +image: "?([^"\n]*)"?$`)

// olmImage is the one image that is not run, optionalImage the one that only a component runs.
const (
	olmImage      = "/olm-bundle:"
	optionalImage = "/gitopscluster:"
)

// pinned are the images that every installation of a release runs, by their digests, sorted.
func (p *publisher) pinned(t *testing.T, out string) []string {
	t.Helper()
	var images []string
	for _, line := range strings.Fields(read(t, filepath.Join(out, "files", "images.txt"))) {
		if strings.Contains(line, olmImage) || strings.Contains(line, optionalImage) || strings.Contains(line, "/rendered:") {
			continue
		}
		images = append(images, regexp.MustCompile(`:[^:/]*@`).ReplaceAllString(line, "@"))
	}
	if len(images) != 3 {
		t.Fatalf("images.txt lists %q, want those of three containers", images)
	}
	slices.Sort(images)
	return images
}

// inRegistry fails unless every image of rendered manifests is one of the release.
func (p *publisher) runsTheImages(t *testing.T, what, rendered, out string) {
	t.Helper()
	var images []string
	for _, m := range imageLine.FindAllStringSubmatch(rendered, -1) {
		images = append(images, m[1])
	}
	slices.Sort(images)
	if want := p.pinned(t, out); !slices.Equal(images, want) {
		t.Errorf("%s runs %q, want %q", what, images, want)
	}
	for _, image := range images {
		reference, err := name.NewDigest(image)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Pull(t.Context(), reference); err != nil {
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
	tagged := regexp.MustCompile(`multicluster-integrations/(propagation|resourcesync|aggregation|gitopscluster|rendered):`)
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
	var errs bytes.Buffer
	c := exec.CommandContext(t.Context(), program, arguments...)
	c.Stderr = &errs
	c.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, arguments, err, errs.Bytes())
	}
	return string(out)
}
