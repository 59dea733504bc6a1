// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"os"
	"path/filepath"
	"syscall"
)

// lockName is the file in a folder that program and supervisor keep locked. The kernel releases the
// lock when both have ended.
const lockName = "lock"

// makeFolder creates a locked folder. The lock file gets its name after it is locked, so that no
// other program takes a new folder for an abandoned one.
func makeFolder(parent, prefix string) (folder string, lock *os.File, err error) {
	folder, err = os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(folder)
		}
	}()
	lock, err = os.Create(filepath.Join(folder, lockName+".new"))
	if err != nil {
		return "", nil, err
	}
	if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", nil, err
	}
	return folder, lock, os.Rename(lock.Name(), filepath.Join(folder, lockName))
}

// sweep removes folders that no process locks any more. Folders that it cannot read or remove
// belong to another user.
func sweep(parent, prefix string) {
	if parent == "" {
		parent = os.TempDir()
	}
	locks, _ := filepath.Glob(filepath.Join(parent, prefix+"*", lockName))
	for _, path := range locks {
		lock, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = lock.Close()
	}
}
