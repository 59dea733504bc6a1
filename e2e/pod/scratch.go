// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	folderPrefix = "multicluster-integrations-pod-"
	cgroups      = "/sys/fs/cgroup"
	lockName     = "lock"
	// emptyPatience is how long the kernel may take to end what was killed in a cgroup.
	emptyPatience = 20 * time.Second
)

// scratch is all that outlives the namespaces: a folder, and cgroups of its name.
type scratch struct {
	folder string
	lock   *os.File
}

// newScratch makes a folder and cgroups, and removes those of programs that were killed.
func newScratch(ctx context.Context) (*scratch, error) {
	if err := sweep(ctx); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{folder: folder}
	if s.lock, err = hold(filepath.Join(folder, lockName)); err == nil {
		err = makeCgroups(filepath.Base(folder))
	}
	if err != nil {
		return nil, errors.Join(err, s.remove(ctx, false))
	}
	return s, nil
}

// hold opens a file and locks it; the kernel drops the lock with this program.
func hold(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// sweep removes what programs left that were killed.
func sweep(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		lock, err := hold(filepath.Join(folder, lockName))
		if err != nil {
			continue // another program's
		}
		if err := (&scratch{folder: folder, lock: lock}).remove(ctx, false); err != nil {
			return fmt.Errorf("remove what an earlier run left: %w", err)
		}
	}
	return nil
}

// remove removes everything, but logs that are to be kept; it does so also when ctx has ended.
func (s *scratch) remove(ctx context.Context, keepLogs bool) error {
	var errs []error
	if keepLogs {
		errs = append(errs, s.keepLogs())
	}
	errs = append(errs, removeCgroups(context.WithoutCancel(ctx), filepath.Base(s.folder)), os.RemoveAll(s.folder))
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// keepLogs moves the logs of the fleet and of the containers to a folder that stays.
func (s *scratch) keepLogs() error {
	logs, err := filepath.Glob(filepath.Join(s.folder, "multicluster-integrations-logs-*", "*"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.folder, "pods")); err == nil {
		logs = append(logs, filepath.Join(s.folder, "pods"))
	}
	if len(logs) == 0 {
		return nil
	}
	kept, err := os.MkdirTemp("", "multicluster-integrations-logs-")
	if err != nil {
		return err
	}
	for _, path := range logs {
		if err := os.Rename(path, filepath.Join(kept, filepath.Base(path))); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "The logs are in", kept)
	return nil
}

// hierarchies returns the folders of the cgroup hierarchies: one each of version 1, or the
// one of version 2.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
		return []string{cgroups}, nil
	}
	processes, err := filepath.Glob(filepath.Join(cgroups, "*", "cgroup.procs"))
	if err == nil && len(processes) == 0 {
		err = fmt.Errorf("no cgroups are mounted below %s", cgroups)
	}
	folders := make([]string, 0, len(processes))
	for _, path := range processes {
		folders = append(folders, filepath.Dir(path))
	}
	return folders, err
}

// makeCgroups makes a cgroup in every hierarchy, for the kubelet to put its pods into.
func makeCgroups(name string) error {
	parents, err := hierarchies()
	if err != nil {
		return err
	}
	for _, parent := range parents {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			return err
		}
		if filepath.Base(parent) != "cpuset" {
			continue
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // which a new one lacks
			content, err := os.ReadFile(filepath.Join(parent, file))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(parent, name, file), content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeCgroups removes the cgroups of a name with all below them, once they are empty.
func removeCgroups(ctx context.Context, name string) error {
	parents, err := hierarchies()
	if err != nil {
		return err
	}
	return env.WaitFor(ctx, emptyPatience, "the cgroups "+name+" to be empty", func(context.Context) (bool, string) {
		errs := make([]error, 0, len(parents))
		for _, parent := range parents {
			errs = append(errs, removeTree(filepath.Join(parent, name)))
		}
		err := errors.Join(errs...)
		return err == nil, fmt.Sprint(err)
	})
}

// removeTree removes a cgroup after those below it. Its files go with it.
func removeTree(cgroup string) error {
	below, err := os.ReadDir(cgroup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, each := range below {
		if each.IsDir() {
			errs = append(errs, removeTree(filepath.Join(cgroup, each.Name())))
		}
	}
	return errors.Join(append(errs, syscall.Rmdir(cgroup))...)
}
