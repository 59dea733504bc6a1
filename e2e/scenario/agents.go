// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// InstallPrincipal gives a hub the principal that docs/argocd-agent.md asks for, and its Service an address.
// No pod runs it.
func InstallPrincipal(ctx context.Context, hub *env.Cluster, address string) error {
	if err := hub.ApplyFiles(ctx, filepath.Join(testkit.Root(), "e2e", "scenario", "testdata", "principal.yaml")); err != nil {
		return err
	}
	service := &corev1.Service{}
	if err := hub.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: "argocd-agent-principal"}, service); err != nil {
		return err
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: address}}
	return hub.Client.Status().Update(ctx, service)
}

// principalSource is the start of the remote resource in the example.
const principalSource = "https://github.com/argoproj-labs/argocd-agent//install/kubernetes/principal?ref="

// RenderAgents returns the output of kustomize for a kustomization with the resource "agent". It is the
// example of argocd-agent, with the principal's manifests from a folder.
func RenderAgents(ctx context.Context, principal fs.FS, kustomization string) (_ []byte, err error) {
	defer must.Return(&err)
	dir := must.Get(os.MkdirTemp("", "agents-"))
	defer os.RemoveAll(dir)
	example := filepath.Join(dir, "agent", "kustomization.yaml")
	must.OK(errors.Join(os.CopyFS(filepath.Dir(example), os.DirFS(Examples("agent"))), os.CopyFS(filepath.Join(dir, "principal"), principal)))
	text := must.Get(os.ReadFile(example))
	_, after, found := strings.Cut(string(text), principalSource)
	version, _, _ := strings.Cut(after, "\n")
	if !found {
		return nil, fmt.Errorf("the example has no resource %s", principalSource)
	}
	local := strings.Replace(string(text), principalSource+version, "../principal", 1)
	must.OK(errors.Join(os.WriteFile(example, []byte(local), 0o600), os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600)))
	out, err := exec.CommandContext(ctx, filepath.Join(testkit.Root(), "bin", "kustomize"), "build", dir).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("kustomize: %s", failed.Stderr)
	}
	return out, err
}
