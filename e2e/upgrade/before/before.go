// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package before builds the previous release of this checkout, which deploy/release/previous names, from the
// checkout's history: its sources, and the product's binaries.
package before

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// RequiredVariable is an environment variable. If it is set, a missing previous release is an error, so that
// continuous integration does not silently test less.
const RequiredVariable = "PREVIOUS_REQUIRED"

// Release is the previous release of this checkout.
type Release struct {
	// Version is the version that its containers report.
	Version string
	// Root is the folder of its sources, with its binaries below bin/product after [Release.Build].
	Root string
	// Missing is why the history does not have the release, as in a shallow clone or an unpacked archive. If
	// it is not empty, Root is this checkout, which replaces the release.
	Missing string
}

// Open returns the previous release. It unpacks the sources below bin/before once.
func Open(ctx context.Context) (*Release, error) {
	root := testkit.Root()
	version, revision, err := read(filepath.Join(root, "deploy", "release", "previous"))
	if err != nil {
		return nil, err
	}
	commit, missing := resolve(ctx, root, revision)
	if missing != nil {
		err := fmt.Errorf("%s is not in this checkout's history, `git fetch --unshallow --tags` brings it: %w", revision, missing)
		if os.Getenv(RequiredVariable) != "" {
			return nil, err
		}
		return &Release{Version: version, Root: root, Missing: err.Error()}, nil
	}
	r := &Release{Version: version, Root: filepath.Join(root, "bin", "before", commit[:12])}
	release, err := lock(filepath.Join(root, "bin", "before"))
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := os.Stat(r.Root); err == nil {
		return r, nil
	}
	unfinished := r.Root + ".tmp"
	if err := errors.Join(os.RemoveAll(unfinished), archive(ctx, root, commit, unfinished)); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", revision, err)
	}
	return r, os.Rename(unfinished, r.Root)
}

// Build builds the product's binaries of the release, or of this checkout if the release is
// missing.
func (r *Release) Build(ctx context.Context) error {
	if r.Missing != "" {
		return env.Build(ctx)
	}
	release, err := lock(filepath.Dir(r.Root))
	if err != nil {
		return err
	}
	defer release()
	for _, name := range []string{env.Propagation, env.ResourceSync, env.Aggregation} {
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", filepath.Join(r.Root, "bin", "product", name), ".")
		cmd.Dir = filepath.Join(r.Root, name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s %s: %w\n%s", name, r.Version, err, out)
		}
	}
	return nil
}

// read returns the version and the revision in the first line that is no comment.
func read(path string) (version, revision string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] != "#" {
			return fields[0], fields[1], nil
		}
	}
	return "", "", fmt.Errorf("%s has no line with a version and a tag or commit", path)
}

// resolve returns the commit of a revision in the checkout at root.
func resolve(ctx context.Context, root, revision string) (string, error) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return "", err // a folder above root may belong to another repository
	}
	cmd := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// archive unpacks a commit into a folder.
func archive(ctx context.Context, root, commit, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var errs bytes.Buffer
	packed := exec.CommandContext(ctx, "git", "-C", root, "archive", "--format=tar", commit)
	unpacked := exec.CommandContext(ctx, "tar", "--extract", "--directory", folder)
	packed.Stderr, unpacked.Stderr = &errs, &errs
	out, err := packed.Output()
	if err == nil {
		unpacked.Stdin = bytes.NewReader(out)
		err = unpacked.Run()
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, errs.Bytes())
	}
	return nil
}

// lock creates a folder and waits for other programs that use it. It keeps them out until release is called.
func lock(folder string) (release func(), err error) {
	defer must.Return(&err)
	must.OK(os.MkdirAll(folder, 0o755))
	file := must.Get(os.Create(filepath.Join(folder, ".lock")))
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", folder, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // and with it the lock
}
