// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"io"
	"log"
	"net/http"
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
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// imagesAreWhole runs the images of a release and copies them through a registry.
func imagesAreWhole(t *testing.T, folder string, tree *source.Tree) {
	host := serve(t)
	for range 2 { // a second push changes nothing and fails nothing
		if err := run(t.Context(), []string{"push", "-from", folder, "-registry", host + "/somewhere"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range tree.Containers {
		t.Run(c.Name, func(t *testing.T) {
			img, index := imageOf(t, folder, "multicluster-integrations/"+c.Name, tree.Version)
			if err := validate.Index(index); err != nil {
				t.Error(err)
			}
			runsAsItSays(t, img, c, tree)
			tag, err := name.NewTag(host + "/somewhere/multicluster-integrations/" + c.Name + ":" + tree.Version)
			if err != nil {
				t.Fatal(err)
			}
			pulled, err := remote.Index(tag, remote.WithContext(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Index(pulled); err != nil || digestOf(t, pulled) != digestOf(t, index) {
				t.Errorf("%s was pulled as %s, pushed as %s: %v", tag, digestOf(t, pulled), digestOf(t, index), err)
			}
		})
	}
}

// imageOf reads the image for this machine's architecture from a layout.
func imageOf(t *testing.T, folder, repository, tag string) (v1.Image, v1.ImageIndex) {
	t.Helper()
	index, tagged, err := store.Read(filepath.Join(folder, repository))
	if err != nil {
		t.Fatal(err)
	}
	if tagged != tag {
		t.Fatalf("the layout %s has tag %q, want %q", repository, tagged, tag)
	}
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
	want := []string{"etc", "etc/ssl", "etc/ssl/certs", image.RootsPath, image.UsersPath, image.LicencesPath}
	for _, p := range c.Programs {
		want = append(want, p.Name)
	}
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, image.LicencesPath+"/") })
	if slices.Sort(want); !slices.Equal(rest, want) {
		t.Errorf("the image holds %q besides licences, want %q and no shell", rest, want)
	}
	licencesAreWhole(t, folder, c, names)
	out, err := runImage(t, folder, config.Config, append(config.Config.Entrypoint, "--version")...)
	if err != nil || !strings.HasPrefix(out, c.Name+" "+tree.Version+" (revision "+tree.Short()+",") {
		t.Errorf("--version: %v\n%s", err, out)
	}
	if out, err := runImage(t, folder, config.Config, append(config.Config.Entrypoint, "-no-such-flag")...); err == nil || !strings.Contains(out, "no-such-flag") {
		t.Errorf("a wrong flag: %v\n%s", err, out)
	}
	if out, err := runImage(t, folder, config.Config, "/bin/sh", "-c", "exit"); err == nil || !strings.Contains(out, "no such file") {
		t.Errorf("a shell: %v\n%s", err, out)
	}
	for label, want := range map[string]string{"version": tree.Version, "revision": tree.Revision, "licenses": "Apache-2.0", "created": "2026-01-02T03:04:05Z"} {
		if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	// If a kubelet names only the user's number, this file gives the user its group.
	users, err := os.ReadFile(filepath.Join(folder, image.UsersPath))
	if fields := strings.Split(string(users), ":"); err != nil || len(fields) < 4 || fields[2]+":"+fields[3] != config.Config.User {
		t.Errorf("the users are %q, %v, want %s among them", users, err, config.Config.User)
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

// licencesAreWhole fails unless the image has a text of each module that the linker recorded in its binaries.
func licencesAreWhole(t *testing.T, folder string, c source.Container, names []string) {
	t.Helper()
	for _, p := range c.Programs {
		info, err := buildinfo.ReadFile(filepath.Join(folder, p.Name))
		if err != nil {
			t.Fatal(err)
		}
		modules := []string{"std", "ca-certificates"}
		for _, m := range info.Deps {
			if !strings.HasPrefix(m.Path, "open-cluster-management.io/multicluster-integrations/") {
				modules = append(modules, m.Path)
			}
		}
		if len(modules) < 50 && p.Name == c.Name {
			t.Errorf("%s has %d modules: the comparison proves nothing", p.Name, len(modules))
		}
		for _, m := range modules {
			prefix := image.LicencesPath + "/" + m + "/"
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) && len(name) > len(prefix) }) {
				t.Errorf("the image of %s has no licence of %s", c.Name, m)
			}
		}
	}
	if own := read(t, filepath.Join(folder, image.LicencesPath, "LICENSE")); !strings.Contains(own, "Apache License") {
		t.Error("the image lacks the project's own licence")
	}
}

// serve runs a registry and returns its host.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func digestOf(t *testing.T, of interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	digest, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// A release stays. A tag that a registry has is not moved to other content.
func TestPush_movesNoTag(t *testing.T) {
	host, folder := serve(t), t.TempDir()
	for i, refused := range []bool{false, true} {
		layoutOf(t, folder)
		err := run(t.Context(), []string{"push", "-from", folder, "-registry", host})
		if (err != nil) != refused {
			t.Errorf("push %d: %v", i, err)
		}
		if refused && !strings.Contains(err.Error(), "some/image:1.0.0 is there already") {
			t.Errorf("the refusal does not name the tag: %v", err)
		}
	}
}

// Some registries answer 403 for a repository that nothing was pushed to yet, GitHub's among them.
func TestPush_succeedsWhereMissingRepositoriesAreForbidden(t *testing.T) {
	folder, whole := t.TempDir(), registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	pushed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			pushed = true
		}
		if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/") && !pushed {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		whole.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	layoutOf(t, folder)
	if err := run(t.Context(), []string{"push", "-from", folder, "-registry", strings.TrimPrefix(server.URL, "http://")}); err != nil {
		t.Error(err)
	}
}

// layoutOf writes a layout of random content.
func layoutOf(t *testing.T, folder string) {
	t.Helper()
	index, err := random.Index(64, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(filepath.Join(folder, "some", "image"), index, "1.0.0"); err != nil {
		t.Fatal(err)
	}
}
