// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContainers_areTheModulesWithMainAtTheirRoot(t *testing.T) {
	const version = "package command\n\nimport \"fmt\"\n\nconst other = 1\n\n// Version of this module.\nconst Version = \"1.2.3\"\n\nvar _ = fmt.Sprint\n"
	root := t.TempDir()
	write(t, root, map[string]string{
		"carrier/main.go": "package main", "carrier/internal/command/command.go": version, "carrier/plugin/main.go": "package main",
		"carrier/internal/tool/main.go": "package main", "optional/alone/main.go": "package main", "optional/alone/internal/command/command.go": version,
		"shared/contract/doc.go": "package contract", "e2e/demo/main.go": "package main",
	})
	tree, err := Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Containers) != 2 || tree.Containers[0].Name != "alone" || tree.Containers[1].Name != "carrier" {
		t.Fatalf("containers %+v, want alone and carrier: a module with main.go at its root is one", tree.Containers)
	}
	if got := tree.Containers[0].Module; got != "optional/alone" {
		t.Errorf("module of alone %q, want optional/alone", got)
	}
	carrier := tree.Containers[1]
	if tree.Version != "1.2.3" {
		t.Errorf("version %q, want 1.2.3", tree.Version)
	}
	if want := []Program{{"carrier", "."}, {"plugin", "./plugin"}}; !slices.Equal(carrier.Programs, want) {
		t.Errorf("programs %+v, want %+v: one folder below is a program of the same image, deeper is not", carrier.Programs, want)
	}
	if !tree.Dirty() {
		t.Error("a folder without git is clean, want dirty: nobody knows what it holds")
	}
}

func TestContainers_haveOneVersion(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"a/main.go": "package main", "a/internal/command/command.go": "package command\n\nconst Version = \"1.2.3\"\n",
		"b/main.go": "package main", "b/internal/command/command.go": "package command\n\nconst Version = \"1.2.4\"\n",
	})
	if _, err := Open(t.Context(), root); err == nil || !strings.Contains(err.Error(), "a says version 1.2.3, b says 1.2.4") {
		t.Errorf("two versions: %v", err)
	}
}

func TestContainers_needAConstantVersion(t *testing.T) {
	for reason, content := range map[string]string{
		"a variable can be changed while it runs": "package command\n\nvar Version = \"1.2.3\"\n",
		"another name":                    "package command\n\nconst version = \"1.2.3\"\n",
		"a number is no semantic version": "package command\n\nconst Version = 1\n",
	} {
		root := t.TempDir()
		write(t, root, map[string]string{"alone/main.go": "package main", "alone/internal/command/command.go": content})
		if tree, err := Open(t.Context(), root); err == nil {
			t.Errorf("%s: %+v, want an error", reason, tree.Containers)
		}
	}
}

func TestShort(t *testing.T) {
	commit := strings.Repeat("0123456789", 4)
	for revision, want := range map[string]string{commit: "012345678901", commit + dirtySuffix: "012345678901-dirty", unknown: unknown} {
		if got := (&Tree{Revision: revision}).Short(); got != want {
			t.Errorf("%s is shortened to %s, want %s", revision, got, want)
		}
	}
}
