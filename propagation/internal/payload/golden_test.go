// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The golden files are the delivered Applications for the hub Applications. The conformance module compares
// both with Argo CD's own types, which this module does not have.
func TestManifestWork_matchesTheGoldenFiles(t *testing.T) {
	for _, path := range hubFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			app, r := readHub(t, path), request.Request{}
			if app.Operation != nil {
				r = request.Request{ID: "golden", Operation: app.Operation}
			}
			work, err := ManifestWork(Inputs{Application: app, Request: r})
			if err != nil {
				t.Fatal(err)
			}
			manifest := work.Spec.Workload.Manifests[0].Raw
			var got bytes.Buffer
			if err := json.Indent(&got, manifest, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden := strings.TrimSuffix(path, ".hub.json") + ".delivered.json"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("delivered differs (-golden +got); if it is meant, run with -update:\n%s", diff)
			}
		})
	}
}

func hubFiles(t *testing.T) []string {
	t.Helper()
	hubs, err := filepath.Glob(filepath.Join("testdata", "golden", "*.hub.json"))
	if err != nil || len(hubs) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	return hubs
}

func readHub(t *testing.T, path string) *argocd.Application {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	app := &argocd.Application{}
	if err := json.Unmarshal(raw, app); err != nil {
		t.Fatal(err)
	}
	return app
}
