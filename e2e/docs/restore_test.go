// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// deployments returns the names of the Deployments in namespace multicluster-integrations that
// deploy ships, which are on the hub.
func deployments(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range files(t, "deploy/*.yaml") {
		if strings.Contains(file, "/templates/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq("\n"+string(text), "\n---\n") {
			var o struct {
				Kind     string
				Metadata struct{ Namespace, Name string }
			}
			if strings.Contains(document, "\nkind: Deployment\n") && yaml.Unmarshal([]byte(document), &o) == nil &&
				o.Metadata.Namespace == "multicluster-integrations" && !slices.Contains(names, o.Metadata.Name) {
				names = append(names, o.Metadata.Name)
			}
		}
	}
	if len(names) < 5 {
		t.Fatalf("%d Deployments found in deploy: the search is broken", len(names))
	}
	return names
}

// Each controller that runs through a restore removes what is not back yet: the first step stops
// all of them.
func TestRestore_stopsEveryController(t *testing.T) {
	page := read(t, "docs/restore.md")
	_, steps, _ := strings.Cut(page, "\n## Restore\n")
	step, _, found := strings.Cut(steps, "\n2. ")
	if !found || !strings.Contains(step, "scale deployment/$name --replicas=0") {
		t.Fatalf("the first step stops no controller: %s", step)
	}
	loop := regexp.MustCompile(`(?s)for name in (.*?); do`).FindStringSubmatch(step)
	if loop == nil {
		t.Fatalf("the first step has no list of controllers: %s", step)
	}
	stopped := strings.Fields(strings.ReplaceAll(loop[1], `\`, " "))
	for _, name := range deployments(t) {
		if !slices.Contains(stopped, name) {
			t.Errorf("Deployment %s runs through a restore: the first step stops %q", name, stopped)
		}
	}
}
