// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spdxjson "github.com/spdx/tools-golang/json"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/attest"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// imagesAreWhole runs the images of a release and copies them through registries.
func imagesAreWhole(t *testing.T, folder string, tree *source.Tree) {
	for _, c := range tree.Containers {
		t.Run(c.Name, func(t *testing.T) {
			img, index := imageOf(t, folder, "multicluster-integrations/"+c.Name, c.Version)
			if err := validate.Index(index); err != nil {
				t.Error(err)
			}
			runsAsItSays(t, img, c, tree)
		})
	}
	for what, referrers := range map[string]bool{"with the referrers API": true, "without the referrers API": false} {
		t.Run("through a registry "+what, func(t *testing.T) {
			host := serve(t, referrers)
			for range 2 { // a second push changes nothing and fails nothing
				if err := run(t.Context(), []string{"push", "-from", folder, "-registry", host + "/somewhere"}); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range tree.Containers {
				pulledIsWhole(t, host+"/somewhere/multicluster-integrations/"+c.Name+":"+c.Version, folder, c)
			}
		})
	}
}

// imageOf reads the image for this machine's architecture from a layout.
func imageOf(t *testing.T, folder, repository, tag string) (v1.Image, v1.ImageIndex) {
	t.Helper()
	entries, err := store.Read(filepath.Join(folder, repository))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 || entries[0].Index == nil || entries[0].Tag != tag {
		t.Fatalf("the layout %s does not begin with the index %q", repository, tag)
	}
	index := entries[0].Index
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		if d.ArtifactType != "" {
			t.Errorf("%s has artifact type %q in the index, want none: it is to be run", d.Digest, d.ArtifactType)
		}
		if d.Platform.OS == "linux" && d.Platform.Architecture == runtime.GOARCH {
			img, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return img, index
		}
	}
	t.Fatalf("%s has no image for linux/%s", repository, runtime.GOARCH)
	return nil, nil
}

func runsAsItSays(t *testing.T, img v1.Image, c source.Container, tree *source.Tree) {
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	folder, names := unpack(t, img)
	want := []string{"etc", "etc/ssl", "etc/ssl/certs", image.RootsPath}
	for _, p := range c.Programs {
		want = append(want, p.Name)
	}
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Errorf("the image holds %q, want %q and no shell", names, want)
	}
	out, err := runImage(t, folder, config.Config, append(config.Config.Entrypoint, "--version")...)
	if err != nil || !strings.HasPrefix(out, c.Name+" "+c.Version+" (revision "+tree.Short()+",") {
		t.Errorf("--version: %v\n%s", err, out)
	}
	if out, err := runImage(t, folder, config.Config, append(config.Config.Entrypoint, "-no-such-flag")...); err == nil || !strings.Contains(out, "no-such-flag") {
		t.Errorf("a wrong flag: %v\n%s", err, out)
	}
	if out, err := runImage(t, folder, config.Config, "/bin/sh", "-c", "exit"); err == nil || !strings.Contains(out, "no such file") {
		t.Errorf("a shell: %v\n%s", err, out)
	}
	for label, want := range map[string]string{"version": c.Version, "revision": tree.Revision, "licenses": "Apache-2.0", "created": "2026-01-02T03:04:05Z"} {
		if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	pool := x509.NewCertPool()
	roots, err := os.ReadFile(filepath.Join(folder, image.RootsPath))
	if err != nil || !pool.AppendCertsFromPEM(roots) {
		t.Errorf("the root certificates cannot be read: %v", err)
	}
	if n := bytes.Count(roots, []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d root certificates, want those of Mozilla's store: more than a hundred", n)
	}
}

// serve runs a registry and returns its host.
func serve(t *testing.T, referrers bool) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func pulledIsWhole(t *testing.T, reference, folder string, c source.Container) {
	t.Helper()
	local, localIndex := imageOf(t, folder, "multicluster-integrations/"+c.Name, c.Version)
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := store.Pull(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digestOf(t, index), digestOf(t, localIndex); got != want {
		t.Errorf("%s was pulled as %s, pushed as %s", reference, got, want)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	root, _ := unpack(t, local)
	info, err := buildinfo.ReadFile(filepath.Join(root, c.Name))
	if err != nil {
		t.Fatal(err)
	}
	bill, err := spdxjson.Read(bytes.NewReader(attached(t, tag.Context(), digestOf(t, local), attest.SPDX)))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, p := range bill.Packages {
		listed[p.PackageName] = true
	}
	for _, m := range append([]string{c.Name, info.Main.Path, "std", image.RootsModule}, pathsOf(info)...) {
		if !listed[m] {
			t.Errorf("the bill of materials of %s does not list %s", c.Name, m)
		}
	}
	if n := len(info.Deps); n < 50 {
		t.Errorf("%s has %d modules: the comparison proves nothing", c.Name, n)
	}
	provenance := string(attached(t, tag.Context(), digestOf(t, index), attest.InToto))
	for _, said := range []string{digestOf(t, index).Hex, digestOf(t, local).Hex, "gitCommit", runtime.Version()} {
		if !strings.Contains(provenance, said) {
			t.Errorf("the provenance of %s does not say %s:\n%s", c.Name, said, provenance)
		}
	}
}

func pathsOf(info *buildinfo.BuildInfo) []string {
	var out []string
	for _, m := range info.Deps {
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		out = append(out, m.Path)
	}
	return out
}

// attached returns the content of the one artefact of a kind that refers to digest.
func attached(t *testing.T, repository name.Repository, digest v1.Hash, kind types.MediaType) []byte {
	t.Helper()
	referrers, err := remote.Referrers(repository.Digest(digest.String()), remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := referrers.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		if d.ArtifactType != string(kind) {
			continue
		}
		img, err := remote.Image(repository.Digest(d.Digest.String()), remote.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := img.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%s has %d layers, want 1: %v", d.Digest, len(layers), err)
		}
		r, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	t.Fatalf("nothing of type %s refers to %s: %+v", kind, digest, manifest.Manifests)
	return nil
}

func digestOf(t *testing.T, of interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	digest, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// What was released stays: a tag that a registry has is not moved to other content.
func TestPushMovesNoTag(t *testing.T) {
	host, folder := serve(t, true), t.TempDir()
	for i, refused := range []bool{false, true} {
		index, err := random.Index(64, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Write(filepath.Join(folder, "some", "image"), store.Entry{Index: index, Tag: "1.0.0"}); err != nil {
			t.Fatal(err)
		}
		err = run(t.Context(), []string{"push", "-from", folder, "-registry", host})
		if (err != nil) != refused {
			t.Errorf("push %d: %v", i, err)
		}
		if refused && !strings.Contains(err.Error(), "some/image:1.0.0 is there already") {
			t.Errorf("the refusal does not name the tag: %v", err)
		}
	}
}
