// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package before

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout creates a folder with the files of a checkout that upgrades from revision, and makes it the
// working directory.
func checkout(t *testing.T, revision string) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "go.work", "go 1.26\n")
	write(t, root, "deploy/release/previous", "# a comment\n1.2.3 "+revision+"\n")
	t.Chdir(root)
	return root
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func TestOpen_unpacksTheRelease(t *testing.T) {
	root := checkout(t, "v1.2.3")
	git(t, root, "init", "--quiet")
	write(t, root, "deploy/base/file", "before")
	git(t, root, "add", "-A")
	git(t, root, "commit", "--quiet", "-m", "Release")
	git(t, root, "tag", "v1.2.3")
	write(t, root, "deploy/base/file", "now")
	for _, when := range []string{"first", "again"} {
		r, err := Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(r.Root, "deploy", "base", "file"))
		if err != nil || string(content) != "before" || r.Version != "1.2.3" || r.Missing != "" {
			t.Errorf("%s: %+v has %q, %v", when, r, content, err)
		}
	}
}

func TestOpen_returnsTheCheckoutWithoutHistory(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, root string){
		"an unpacked archive": func(*testing.T, string) {},
		"a shallow clone": func(t *testing.T, root string) {
			t.Helper()
			git(t, root, "init", "--quiet")
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := checkout(t, "0123456789012345678901234567890123456789")
			prepare(t, root)
			r, err := Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same, err := filepath.EvalSymlinks(root)
			if err != nil {
				t.Fatal(err)
			}
			if r.Root != root && r.Root != same || !strings.Contains(r.Missing, "git fetch --unshallow") {
				t.Errorf("got %+v, want the checkout itself, and why", r)
			}
			t.Setenv(RequiredVariable, "true")
			if _, err := Open(t.Context()); err == nil {
				t.Error("the release before is required and missing, and that is no error")
			}
		})
	}
}
