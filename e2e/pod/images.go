// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const (
	// registry is what deploy/install.yaml names.
	registry   = "registry.invalid/multicluster-integrations/"
	pauseImage = "registry.invalid/pause:1"
)

// containers are those of the pod.
var containers = []string{"propagation", "resourcesync", "aggregation"}

// layoutArchive returns the OCI layout of a container's image.
func layoutArchive(folder, name string) (*bytes.Buffer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	layout := filepath.Join(folder, "multicluster-integrations", name)
	if err := w.AddFS(os.DirFS(layout)); err != nil {
		return nil, fmt.Errorf("read the image %s, which `make pod` builds: %w", layout, err)
	}
	return &out, w.Close()
}

// pauseArchive returns an image of one program, as docker save would write it.
func pauseArchive(program string) (*bytes.Buffer, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	layer, err := archive(file{"pause", binary})
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"Entrypoint": []string{"/pause"}, "User": "65535:65535"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{pauseImage}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	return archive(file{"manifest.json", manifest}, file{"config.json", config}, file{"layer.tar", layer.Bytes()})
}

type file struct {
	name    string
	content []byte
}

// archive returns a tar archive of files that may be run.
func archive(files ...file) (*bytes.Buffer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o555, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	return &out, w.Close()
}
