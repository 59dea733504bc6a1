// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Rendered returns the path of a file below deploy/rendered.
func Rendered(elements ...string) string {
	return filepath.Join(append([]string{testkit.Root(), "deploy", "rendered"}, elements...)...)
}

// RenderedHub is rendered mode on the hub of a fleet. The managed clusters may have an Argo CD, unlike with
// [Options.Rendered].
type RenderedHub struct{ Fleet *Fleet }

// Start starts the plugin and the application controller.
func (h RenderedHub) Start(ctx context.Context) error {
	return parallel(ctx, h.Fleet.startPlugin, h.StartController)
}

// StartController starts the application controller of the hub's own Argo CD, with the permissions and the
// health check of deploy/rendered.
func (h RenderedHub) StartController(ctx context.Context) (err error) {
	defer must.Return(&err)
	f := h.Fleet
	must.OK(f.Hub.applyInstall(ctx, "argocd.yaml", "argocd-managed.yaml"))
	must.OK(f.Hub.ApplyFiles(ctx, Rendered("hub", "rights.yaml"), Rendered("hub", "policy.yaml")))
	settings := must.Get(ReadObjects(Rendered("argocd", "argocd-cm.yaml")))
	settings[0].SetNamespace(ArgoCDNamespace)
	// This Argo CD may list only ManifestWorks.
	must.OK(unstructured.SetNestedField(settings[0].Object, "strict", "data", "resource.respectRBAC"))
	must.OK(f.Hub.Apply(ctx, settings...))
	return f.startApplications(ctx, f.Hub)
}

// startPlugin starts Argo CD's cmp-server like the sidecar of the repository server.
func (f *Fleet) startPlugin(ctx context.Context) (err error) {
	defer must.Return(&err)
	binary := must.Get(newest.part("argocd"))
	plugin := must.Get(part(filepath.Join("product", "plugin")))
	config := must.Get(os.ReadFile(Rendered("argocd", "plugin.yaml")))
	const installed = "/plugin/plugin"
	if !strings.Contains(string(config), installed) {
		return fmt.Errorf("plugin.yaml does not run %s", installed)
	}
	text := strings.ReplaceAll(string(config), installed, strconv.Quote(plugin))
	must.OK(writeFiles(f.Processes.path("plugin-config"), map[string][]byte{"plugin.yaml": []byte(text)}))
	p := must.Get(f.Processes.run(ctx, command{
		name: "cmp-server",
		env: []string{
			argocdName("cmp-server"), "ARGOCD_PLUGINSOCKFILEPATH=" + f.Processes.plugins(), "ARGOCD_CMP_WORKDIR=" + f.Processes.path("plugin-work"),
			"PATH=" + filepath.Join(testkit.Root(), "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		},
		args: []string{binary, "--config-dir-path", f.Processes.path("plugin-config")},
	}))
	return p.explain(Wait(ctx, "the plugin's socket", func(context.Context) (bool, string) {
		_, err := os.Stat(filepath.Join(f.Processes.plugins(), "ocm.sock"))
		return err == nil, fmt.Sprint(err)
	}))
}
