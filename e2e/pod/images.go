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

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	// registry is the registry in deploy/install.yaml.
	registry   = "registry.invalid/multicluster-integrations/"
	pauseImage = "registry.invalid/pause:1"
)

// containers are the containers of the pod.
var containers = []string{"propagation", "resourcesync", "aggregation"}

// layoutArchive returns the OCI layout of a container's image.
func layoutArchive(folder, name string) *bytes.Buffer {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	layout := filepath.Join(folder, "multicluster-integrations", name)
	if err := w.AddFS(os.DirFS(layout)); err != nil {
		must.OK(fmt.Errorf("read the image %s, which `make pod` builds: %w", layout, err))
	}
	must.OK(w.Close())
	return &out
}

// pauseArchive returns an image with one program, in the format of docker save.
func pauseArchive(program string) *bytes.Buffer {
	layer := archive(file{"pause", must.Get(os.ReadFile(program))})
	config := must.Get(json.Marshal(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"Entrypoint": []string{"/pause"}, "User": "65535:65535"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	}))
	manifest := must.Get(json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{pauseImage}, "Layers": []string{"layer.tar"}}}))
	return archive(file{"manifest.json", manifest}, file{"config.json", config}, file{"layer.tar", layer.Bytes()})
}

type file struct {
	name    string
	content []byte
}

// archive returns a tar archive of executable files.
func archive(files ...file) *bytes.Buffer {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		must.OK(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o555, Size: int64(len(f.content))}))
		must.Get(w.Write(f.content))
	}
	must.OK(w.Close())
	return &out
}
