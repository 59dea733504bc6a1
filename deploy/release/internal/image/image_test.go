// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// An image may carry more than its entry point; what order its programs are found in
// changes nothing.
func TestProgramsOfAnImage(t *testing.T) {
	folder := t.TempDir()
	programs := map[string]string{}
	for _, name := range []string{"carrier", "plugin"} {
		programs[name] = filepath.Join(folder, name)
		if err := os.WriteFile(programs[name], []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := Spec{Architecture: "arm64", Programs: programs, EntryPoint: "carrier", Created: time.Unix(1, 0)}
	img, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "arm64" || !slices.Equal(config.Config.Entrypoint, []string{"/carrier"}) || config.Config.User != User {
		t.Errorf("configuration %+v", config)
	}
	modes := map[string]int64{}
	files := tar.NewReader(mutate.Extract(img))
	for h, err := files.Next(); !errors.Is(err, io.EOF); h, err = files.Next() {
		if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.Mode
	}
	for name, want := range map[string]int64{"carrier": 0o555, "plugin": 0o555, RootsPath: 0o444} {
		if modes[name] != want {
			t.Errorf("/%s has mode %o, want %o", name, modes[name], want)
		}
	}
	first, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // a map is walked in another order each time
		again, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Digest(); err != nil || second != first {
			t.Fatalf("the same image has digests %s and %s: %v", first, second, err)
		}
	}
}
