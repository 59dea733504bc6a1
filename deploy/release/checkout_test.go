// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout copies this checkout's files, as they are, to a separate folder and commits them there,
// always with the same commit.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	listed := git(t, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for _, name := range strings.Split(strings.TrimRight(listed, "\x00"), "\x00") {
		from := filepath.Join(root, name)
		info, err := os.Lstat(from)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	git(t, to, "init", "-q", "-b", "main")
	commit(t, to)
	return to
}

// commit commits everything in a folder, at a fixed time.
func commit(t *testing.T, folder string) {
	t.Helper()
	git(t, folder, "add", "-A")
	git(t, folder, "-c", "commit.gpgsign=false", "commit", "-q", "-m", "Release")
}

func git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, arguments...)...)
	const who, when = "Somebody", "2026-01-02T03:04:05Z"
	command.Env = append(os.Environ(), "GIT_AUTHOR_NAME="+who, "GIT_AUTHOR_EMAIL=somebody@example.com", "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+who, "GIT_COMMITTER_EMAIL=somebody@example.com", "GIT_COMMITTER_DATE="+when,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", arguments, err, errs.Bytes())
	}
	return string(out)
}
