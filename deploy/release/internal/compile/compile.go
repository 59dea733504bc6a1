// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compile builds the static binaries of the images.
package compile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

// revisionVariable is where a binary keeps its revision.
const revisionVariable = "open-cluster-management.io/multicluster-integrations/shared/boot.Revision"

// Flags are the build flags; provenance names them.
func Flags(t *source.Tree) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w -X " + revisionVariable + "=" + t.Short()}
}

// Settings are the environment that decides about the outcome, for one
// architecture: the lowest level of each, whatever the caller's machine prefers.
func Settings(architecture string) []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + architecture, "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOPPC64=power8",
	}
}

// Program builds one binary for linux on an architecture and returns its path in
// the folder out.
func Program(ctx context.Context, t *source.Tree, module string, p source.Program, architecture, out string) (string, error) {
	path := filepath.Join(out, p.Name+"-"+architecture)
	arguments := append([]string{"build"}, Flags(t)...)
	command := exec.CommandContext(ctx, "go", append(arguments, "-o", path, p.Package)...)
	command.Dir = filepath.Join(t.Root, module)
	command.Env = append(os.Environ(), Settings(architecture)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("build %s of %s for linux/%s: %w\n%s", p.Name, module, architecture, err, output.Bytes())
	}
	return path, nil
}

// GoVersion is the version of the Go tool that builds.
func GoVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version of Go: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
