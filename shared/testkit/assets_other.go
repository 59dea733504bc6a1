// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package testkit

import (
	"context"
	"os/exec"
)

// Command is exec.CommandContext, because only Linux can end a process with its parent.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// supervised returns the programs unchanged, because only Linux can end a process with its parent.
func supervised(programs string) (folder string, release func() error, err error) {
	return programs, func() error { return nil }, nil
}
