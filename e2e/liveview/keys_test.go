// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package liveview

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Each supported Argo CD uses the two Redis keys and the channel of changes that liveview reads and writes.
// Its server also handles a command line without a tree in the same way.
func TestKeys_equalTheKeysOfEachArgoCD(t *testing.T) {
	for folder, module := range map[string]string{"old": "v2", "ocm-argocd": "v3", "next": "v3"} {
		t.Run(folder, func(t *testing.T) {
			list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/"+module)
			list.Dir = filepath.Join(testkit.Root(), "e2e", "tools", folder)
			list.Env = append(os.Environ(), "GOWORK=off")
			out, err := list.Output()
			if err != nil {
				t.Fatal(err)
			}
			for file, wanted := range map[string][]string{
				"common/common.go":                  {`CacheVersion = "1.8.3"`},
				"util/cache/cache.go":               {`fmt.Sprintf("%s|%s", key, common.CacheVersion)`},
				"util/cache/appstate/cache.go":      {`"app|managed-resources|`, `"app|resources-tree|`, `fmt.Sprintf("%s|%d", key, shard)`},
				"server/application/application.go": {"OnAppResourcesTreeChanged(", "func (s *Server) getCachedAppState(", "argo.RefreshApp(appIf, appName, refreshType,"},
			} {
				source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(file)))
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range wanted {
					if !strings.Contains(strings.ReplaceAll(string(source), "argoutil.", "argo."), text) {
						t.Errorf("%s has no %s", file, text)
					}
				}
			}
		})
	}
}
