// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source reads the input of a build from a checkout: its containers, its version, its
// revision and the time of that.
package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tree is a checkout of the repository.
type Tree struct {
	// Root is the absolute path of the checkout.
	Root string
	// Revision is the full commit. It has the suffix "-dirty" if the sources differ from it, and is
	// "unknown" outside of git.
	Revision string
	// Time is the time of the commit, so that two builds of one commit are equal.
	Time time.Time
	// Version is the version that the binaries of all containers report.
	Version string
	// Containers are the released containers, by name.
	Containers []Container
}

// Container is one image.
type Container struct {
	// Name is the base name of Module.
	Name string
	// Module is the folder of its module, relative to the root of the checkout.
	Module string
	// Programs are the binaries of the image. The first is the entry point.
	Programs []Program
}

// Program is a binary in an image.
type Program struct {
	// Name is the name of the program, and its path in the image after the slash.
	Name string
	// Package is the main package, relative to the module's folder.
	Package string
}

// Open reads the checkout at root.
func Open(ctx context.Context, root string) (*Tree, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	t := &Tree{Root: absolute}
	if err := t.readContainers(); err != nil {
		return nil, err
	}
	return t, t.readRevision(ctx)
}

// Short is the revision that a binary reports.
func (t *Tree) Short() string {
	commit, dirty, _ := strings.Cut(t.Revision, "-")
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if dirty != "" {
		commit += "-" + dirty
	}
	return commit
}

// Dirty reports whether the sources differ from the commit, or have none.
func (t *Tree) Dirty() bool {
	return t.Revision == unknown || strings.HasSuffix(t.Revision, dirtySuffix)
}

// CommitOf returns the commit of a tag, or "" if the tag does not exist.
func (t *Tree) CommitOf(ctx context.Context, tag string) (string, error) {
	found, err := t.git(ctx, "tag", "--list", tag)
	if err != nil || found == "" {
		return "", err
	}
	return t.git(ctx, "rev-parse", "refs/tags/"+tag+"^{commit}")
}

const (
	unknown     = "unknown"
	dirtySuffix = "-dirty"
)

func (t *Tree) readRevision(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(t.Root, ".git")); errors.Is(err, os.ErrNotExist) {
		t.Revision, t.Time = unknown, time.Unix(0, 0).UTC()
		return nil
	}
	head, err := t.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, stamp, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of commit %s: %w", commit, err)
	}
	t.Revision, t.Time = commit, time.Unix(seconds, 0).UTC()
	changes, err := t.git(ctx, "status", "--porcelain")
	if changes != "" {
		t.Revision += dirtySuffix
	}
	return err
}

func (t *Tree) git(ctx context.Context, arguments ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", t.Root}, arguments...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// readContainers finds the modules with a main package, at the root and below optional: each
// becomes an image. A main package one folder below goes into the same image, as /<folder>. A new
// module needs no change here.
func (t *Tree) readContainers() error {
	var mains []string
	for _, folder := range []string{".", "optional"} {
		found, err := filepath.Glob(filepath.Join(t.Root, folder, "*", "main.go"))
		if err != nil {
			return err
		}
		mains = append(mains, found...)
	}
	for _, file := range mains {
		module := filepath.Dir(file)
		c := Container{Name: filepath.Base(module)}
		var err error
		if c.Module, err = filepath.Rel(t.Root, module); err != nil {
			return err
		}
		c.Programs = []Program{{Name: c.Name, Package: "."}}
		if err := t.readVersion(c); err != nil {
			return err
		}
		more, err := filepath.Glob(filepath.Join(module, "*", "main.go"))
		if err != nil {
			return err
		}
		for _, extra := range more {
			name := filepath.Base(filepath.Dir(extra))
			c.Programs = append(c.Programs, Program{Name: name, Package: "./" + name})
		}
		t.Containers = append(t.Containers, c)
	}
	slices.SortFunc(t.Containers, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	if len(t.Containers) == 0 {
		return fmt.Errorf("%s has no module with a main.go; name the root of the checkout", t.Root)
	}
	return nil
}

var versionLine = regexp.MustCompile(`(?m)^const Version = "(\d+\.\d+\.\d+)"`)

// readVersion reads the version that a container's binary reports. All containers have the same
// one.
func (t *Tree) readVersion(c Container) error {
	file := c.Module + "/internal/command/command.go"
	content, err := os.ReadFile(filepath.Join(t.Root, file))
	if err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	m := versionLine.FindSubmatch(content)
	switch {
	case m == nil:
		return fmt.Errorf(`%s has no line 'const Version = "1.2.3"'`, file)
	case t.Version != "" && t.Version != string(m[1]):
		return fmt.Errorf("%s says version %s, %s says %s: all containers have one version", t.Containers[0].Name, t.Version, c.Name, m[1])
	}
	t.Version = string(m[1])
	return nil
}
