// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package image

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

// revisionVariable is the variable of a binary with its revision.
const revisionVariable = "open-cluster-management.io/multicluster-integrations/shared/boot.Revision"

// settings are the environment variables that change the result of a build, for one architecture.
// Each has the lowest level, whatever the machine prefers.
func settings(architecture string) []string {
	return append(os.Environ(),
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture, "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOPPC64=power8")
}

// compile builds one binary for linux on an architecture and returns its content.
func compile(ctx context.Context, t *source.Tree, module string, p source.Program, architecture string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "compile-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // it had only the binary, which is read by now
	path := filepath.Join(folder, p.Name)
	_, err = goTool(ctx, t, module, architecture, "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X "+revisionVariable+"="+t.Short(), "-o", path, p.Package)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func goTool(ctx context.Context, t *source.Tree, module, architecture string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = filepath.Join(t.Root, module)
	command.Env = settings(architecture)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s for linux/%s: %w\n%s", arguments[0], module, architecture, err, errs.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}
