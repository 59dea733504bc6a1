// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package quickstart

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var fleet *env.Fleet

// TestMain prepares the managed clusters. Their Argo CD has no cluster-wide permissions, unlike the Argo CD
// on the page.
func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{}, func(ctx context.Context, f *env.Fleet) error {
		fleet = f
		for _, c := range f.Managed {
			if err := scenario.PrepareCluster(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}))
}

// untestable matches the commands of a block that may be excluded from the tests.
var untestable = regexp.MustCompile(`\bkind (create|load|delete)\b|\bclusteradm\b|https://raw\.githubusercontent\.com/|\brollout status\b`)

// TestQuickstart_matchesThePage runs the commands of the page unchanged from the root of the checkout,
// and compares their output with the page.
func TestQuickstart_matchesThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "KUBECONFIG="+contexts(t), "PATH="+kubectlFirst(t))
	tested := 0
	for _, b := range Blocks(string(page)) {
		if !b.tested() {
			if !untestable.MatchString(b.Commands) {
				t.Errorf("docs/quickstart.md:%d is not tested, and nothing in it needs a container engine or the internet:\n%s", b.Line, b.Commands)
			}
			continue
		}
		tested++
		if strings.Contains(b.Commands, "delete --ignore-not-found -f deploy/install.yaml") {
			// Processes of the fleet replace the pod, which ends with its Deployment.
			if err := fleet.Product.StopPod(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", b.Commands)
		command.Dir, command.Env = testkit.Root(), environment
		out, err := command.CombinedOutput()
		t.Logf("docs/quickstart.md:%d\n%s\n%s", b.Line, b.Commands, out)
		if err != nil {
			t.Fatalf("docs/quickstart.md:%d: %v", b.Line, err)
		}
		if b.want != "" && !agrees(b.want, string(out)) {
			t.Fatalf("docs/quickstart.md:%d prints\n%s\nbut the page says\n%s", b.Line, out, b.want)
		}
	}
	if tested == 0 {
		t.Fatal("docs/quickstart.md has no block of commands: the test proves nothing")
	}
}

// contexts returns a kubeconfig of the fleet with the contexts of the page.
func contexts(t *testing.T) string {
	t.Helper()
	all := clientcmdapi.NewConfig()
	for _, c := range append([]*env.Cluster{fleet.Hub}, fleet.Managed...) {
		one, err := clientcmd.LoadFromFile(c.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		own := one.Contexts[one.CurrentContext]
		name := "kind-" + c.Name
		all.Clusters[name], all.AuthInfos[name] = one.Clusters[own.Cluster], one.AuthInfos[own.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*all, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubectlFirst returns a PATH that begins with the folder of the fleet's kubectl.
func kubectlFirst(t *testing.T) string {
	t.Helper()
	kubectl, err := env.Part("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(kubectl) + string(filepath.ListSeparator) + os.Getenv("PATH")
}
