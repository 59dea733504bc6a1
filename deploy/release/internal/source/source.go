// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source reads what a build depends on from a checkout: its containers,
// their versions, the revision and its time.
package source

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tree is a checkout of the repository.
type Tree struct {
	// Root is the absolute path of the checkout.
	Root string
	// Revision is the full commit, with "-dirty" when the sources differ from it, or
	// "unknown" outside of git.
	Revision string
	// Time is the commit's, so that two builds of one commit are equal.
	Time time.Time
	// Containers are what is released, by name.
	Containers []Container
}

// Container is one image.
type Container struct {
	// Name is also the folder of its module.
	Name string
	// Version is the semantic version that the binary reports.
	Version string
	// Programs are the binaries of the image; the first is the entry point.
	Programs []Program
}

// Program is a binary in an image.
type Program struct {
	// Name is also the path in the image, after the slash.
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
	if t.Containers, err = containers(absolute); err != nil {
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

// Container returns the container called name.
func (t *Tree) Container(name string) (Container, error) {
	var names []string
	for _, c := range t.Containers {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Container{}, fmt.Errorf("no container is called %q; there are %s", name, strings.Join(names, ", "))
}

// CommitOf returns the commit that a tag points to, or "" when there is no such tag.
func (t *Tree) CommitOf(ctx context.Context, tag string) (string, error) {
	found, err := t.git(ctx, "tag", "--list", tag)
	if err != nil || found == "" {
		return "", err
	}
	return t.git(ctx, "rev-parse", "refs/tags/"+tag+"^{commit}")
}

// ChangedSince reports whether what a container is made of differs from revision.
// Tests do not count.
func (t *Tree) ChangedSince(ctx context.Context, revision, container string) (bool, error) {
	out, err := t.git(ctx, "diff", "--name-only", revision, "HEAD", "--", container, "shared",
		":!*_test.go", ":!*/testdata/*", ":!shared/testkit/*")
	return out != "", err
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
	command := exec.CommandContext(ctx, "git", append([]string{"-C", t.Root}, arguments...)...)
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// containers finds the modules that have a main package at their root. A main package
// one folder below goes into the same image, as /<folder>.
func containers(root string) ([]Container, error) {
	mains, err := filepath.Glob(filepath.Join(root, "*", "main.go"))
	if err != nil {
		return nil, err
	}
	var out []Container
	for _, file := range mains {
		module := filepath.Dir(file)
		c := Container{Name: filepath.Base(module)}
		c.Programs = []Program{{Name: c.Name, Package: "."}}
		if c.Version, err = versionIn(filepath.Join(module, "internal", "command", "command.go")); err != nil {
			return nil, err
		}
		more, err := filepath.Glob(filepath.Join(module, "*", "main.go"))
		if err != nil {
			return nil, err
		}
		for _, extra := range more {
			name := filepath.Base(filepath.Dir(extra))
			c.Programs = append(c.Programs, Program{Name: name, Package: "./" + name})
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no module with a main.go; name the root of the checkout", root)
	}
	slices.SortFunc(out, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// versionIn returns the constant Version of a Go file.
func versionIn(path string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	for _, declaration := range file.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 || value.Names[0].Name != "Version" {
				continue
			}
			if literal, ok := value.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				return strconv.Unquote(literal.Value)
			}
		}
	}
	return "", fmt.Errorf("%s declares no constant Version with a string", path)
}
