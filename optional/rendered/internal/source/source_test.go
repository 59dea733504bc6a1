// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
)

// The repository's root is found by the names in the source's path. Folders above it may have the
// repositories of other Applications, so a mismatch must stop the search.
func TestRepository(t *testing.T) {
	cases := map[string]struct{ reason, here, path, root, dir string }{
		"whole":   {reason: "the repository as it is", here: "work/team/app", path: "team/app", root: "work", dir: "team/app"},
		"part":    {reason: "the source's folder alone", here: "work", path: "team/app", root: "work", dir: "."},
		"parent":  {reason: "what the source and what it uses have in common", here: "work/app", path: "team/app", root: "work", dir: "app"},
		"foreign": {reason: "a name that agrees by chance is followed by one that does not", here: "work/x/app", path: "team/app", root: "work/x", dir: "app"},
		"top":     {reason: "the repository's own root", here: "work", path: ".", root: "work", dir: "."},
		"empty":   {reason: "a Helm chart from a registry has no path", here: "work", path: "", root: "work", dir: "."},
		"unclean": {reason: "as tenants write it", here: "work/app", path: "./team//app/", root: "work", dir: "app"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			here := filepath.Join(top, c.here)
			if err := os.MkdirAll(here, 0o755); err != nil {
				t.Fatal(err)
			}
			root, dir, err := Source{Dir: here, Path: c.path}.repository()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }()
			if root.Name() != filepath.Join(top, c.root) || dir != c.dir {
				t.Errorf("%s: root %s, source %s", c.reason, root.Name(), dir)
			}
		})
	}
}

func TestReadFiles_followsLinksWithinTheRepository(t *testing.T) {
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	top := t.TempDir()
	app := filepath.Join(top, "repository", "app")
	for _, dir := range []string{app, filepath.Join(top, "repository", "shared")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(top, "foreign.yaml"), filepath.Join(top, "repository", "shared", "a.yaml")} {
		if err := os.WriteFile(file, []byte(object), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Source{Dir: app, Path: "app", Parameters: parameters.Parameters{Tool: parameters.Directory}}
	link := filepath.Join(app, "link.yaml")
	if err := os.Symlink("../shared/a.yaml", link); err != nil {
		t.Fatal(err)
	}
	if manifests, err := s.Read(t.Context()); err != nil || len(manifests) != 1 || manifests[0].Origin != "link.yaml, document 1" {
		t.Errorf("within the repository: %v %v", manifests, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../foreign.yaml", link); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "app/link.yaml: path escapes") {
		t.Errorf("out of the repository: %v", err)
	}
}

// Tools get neither the platform's environment variables nor the Application's. Kustomize could write a
// variable into a manifest.
func TestEnvironment(t *testing.T) {
	for key, value := range map[string]string{"ARGOCD_ENV_X": "tenant", "PARAM_X": "tenant", "REDIS_PASSWORD": "platform", "HELM_PLUGINS": "x", "HTTPS_PROXY": "proxy"} {
		t.Setenv(key, value)
	}
	env := environment("/home")
	for _, variable := range env {
		key, _, _ := strings.Cut(variable, "=")
		if slices.Contains([]string{"ARGOCD_ENV_X", "PARAM_X", "REDIS_PASSWORD", "HELM_PLUGINS"}, key) {
			t.Errorf("%s is passed on", key)
		}
	}
	if !slices.Contains(env, "HTTPS_PROXY=proxy") || !slices.Contains(env, "HOME=/home") {
		t.Errorf("the way out is missing: %q", env)
	}
}

func TestTool(t *testing.T) {
	for file, want := range map[string]string{
		"Chart.yaml": parameters.Helm, "kustomization.yaml": parameters.Kustomize, "kustomization.yml": parameters.Kustomize,
		"Kustomization": parameters.Kustomize, "deployment.yaml": parameters.Directory,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (Source{Dir: dir, Parameters: parameters.Parameters{Tool: parameters.Auto}}).tool(); got != want {
			t.Errorf("a folder with %s: %s, want %s", file, got, want)
		}
		if got := (Source{Dir: dir, Parameters: parameters.Parameters{Tool: parameters.Directory}}).tool(); got != parameters.Directory {
			t.Errorf("a folder with %s, though a parameter says directory: %s", file, got)
		}
	}
}

func TestRead_reportsAMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := Source{Dir: t.TempDir(), Parameters: parameters.Parameters{Tool: parameters.Kustomize}}
	if _, err := s.Read(t.Context()); err == nil || err.Error() != "kustomize is not in PATH: run the plugin in Argo CD's own image" {
		t.Errorf("the error is %v", err)
	}
}

func TestEscapeCommas(t *testing.T) {
	for value, want := range map[string]string{"a": "a", "a,b": `a\,b`, `a\,b`: `a\,b`, "{a,b}": "{a,b}", ",": `\,`, "{a},b": `{a}\,b`} {
		if got := escapeCommas(value); got != want {
			t.Errorf("%s becomes %s, want %s", value, got, want)
		}
	}
}

// All Applications share the sidecar's memory. A source that is too large fails, and affects no other
// Application.
func TestRead_rejectsALargeSource(t *testing.T) {
	const size, want = 17 << 20, "the manifests of the source have more than 16 MiB: divide it into several Applications"
	dir, tools := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "a.yaml"), size); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec head -c %d /dev/zero\n", size)
	if err := os.WriteFile(filepath.Join(tools, parameters.Kustomize), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	for tool, want := range map[string]string{parameters.Directory: want, parameters.Kustomize: "kustomize: " + want} {
		s := Source{Dir: dir, Parameters: parameters.Parameters{Tool: tool}}
		if _, err := s.Read(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%s: the error is %.200v, want %s", tool, err, want)
		}
	}
}
