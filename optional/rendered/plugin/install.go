// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// install copies this executable to dir/plugin. It replaces the file atomically, so that a running
// one continues with the old file.
func install(dir string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this executable: %w", err)
	}
	from, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("read this executable: %w", err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.CreateTemp(dir, ".plugin-")
	if err != nil {
		return fmt.Errorf("install into %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(to.Name())
		}
	}()
	_, err = io.Copy(to, from)
	// The sidecar runs as another user than the one who installs.
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err != nil {
		return fmt.Errorf("install into %s: %w", dir, err)
	}
	return os.Rename(to.Name(), filepath.Join(dir, "plugin"))
}
