// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A controller that is running during a restore deletes objects if their owners are not restored yet. The
// first step stops every Deployment of one namespace, and this project ships no Deployment elsewhere on the
// hub.
func TestRestore_stopsEveryController(t *testing.T) {
	page := read(t, "docs/restore.md")
	_, steps, _ := strings.Cut(page, "\n## Restore\n")
	step, _, found := strings.Cut(steps, "\n2. ")
	if !found || !strings.Contains(step, "kubectl -n multicluster-integrations scale deployment --all --replicas=0") {
		t.Fatalf("the first step does not stop every controller: %s", step)
	}
	names := map[string]bool{}
	for _, file := range files(t, "deploy/*.yaml") {
		if strings.Contains(file, "/templates/") || strings.HasPrefix(file, "deploy/rendered/argocd/") { // a patch of Argo CD's
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
			if !strings.Contains(document, "\nkind: Deployment\n") || yaml.Unmarshal([]byte(document), &o) != nil {
				continue
			}
			switch o.Metadata.Namespace {
			case "multicluster-integrations":
				names[o.Metadata.Name] = true
			case "multicluster-integrations-observer": // runs on managed clusters, and deletes nothing
			default:
				t.Errorf("%s: Deployment %s is in namespace %q, where the first step does not stop it", file, o.Metadata.Name, o.Metadata.Namespace)
			}
		}
	}
	if len(names) < 5 {
		t.Errorf("%d Deployments found in deploy: the search is broken", len(names))
	}
}
