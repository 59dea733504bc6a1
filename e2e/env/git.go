// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// RepositoryURL is the address in the examples. In a fleet Argo CD gets the fleet's repository from it, over
// TLS and through [startGitFront].
const RepositoryURL = "https://" + gitHost + repositoryPath

// repositoryPath is the path of the repository below the git server's root.
const repositoryPath = "/argoproj/argocd-example-apps.git"

// Repository is the git repository of the Applications, with a working copy. It is safe for concurrent use.
type Repository struct {
	work string
	mu   sync.Mutex // of the working copy
}

// newRepository creates the repository below root with two applications, guestbook and notes.
func newRepository(ctx context.Context, root string) (_ *Repository, err error) {
	defer must.Return(&err)
	r := &Repository{work: filepath.Join(root, "work")}
	must.OK(os.MkdirAll(r.work, 0o700))
	origin := filepath.Join(root, repositoryPath)
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", origin},
		{"init", "--quiet", "--initial-branch=main"},
		{"remote", "add", "origin", origin},
	} {
		must.Get(r.git(ctx, args...))
	}
	files := map[string]string{}
	for _, name := range []string{"guestbook", "notes"} {
		content := must.Get(installed.ReadFile("install/" + name + ".yaml"))
		files[name+"/"+name+".yaml"] = string(content)
	}
	_, err = r.Commit(ctx, "Serve the guestbook", files)
	return r, err
}

// Commit writes files by path, commits and pushes them to branch main, and returns the revision. A file
// without content is removed.
func (r *Repository) Commit(ctx context.Context, message string, files map[string]string) (revision string, err error) {
	return r.CommitTo(ctx, "main", message, files)
}

// CommitTo is [Repository.Commit] to another branch, which then has all earlier commits.
func (r *Repository) CommitTo(ctx context.Context, branch, message string, files map[string]string) (revision string, err error) {
	defer must.Return(&err)
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, content := range files {
		path = filepath.Join(r.work, path)
		if content == "" {
			must.OK(os.Remove(path))
			continue
		}
		must.OK(os.MkdirAll(filepath.Dir(path), 0o700))
		must.OK(os.WriteFile(path, []byte(content), 0o600))
	}
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message", message}, {"push", "--quiet", "origin", "HEAD:refs/heads/" + branch}} {
		must.Get(r.git(ctx, args...))
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

// Read returns a file of the working copy.
func (r *Repository) Read(path string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.work, path))
	return string(content), err
}

// git runs git in the working copy, without the configuration of the user.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.work
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.work, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@localhost", "GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@localhost",
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
