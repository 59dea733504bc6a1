// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// These are names in the example that installs Argo CD on managed clusters.
const (
	// ArgoCDAddOn is the name of the ClusterManagementAddOn, and of the add-on in a cluster's namespace.
	ArgoCDAddOn = "argocd"
	// ArgoCDTemplate is the name of the AddOnTemplate in the ClusterManagementAddOn.
	ArgoCDTemplate = "argocd-3.2.11"
	argoCDExample  = "argocd-on-clusters"
	exampleTime    = "minSuccessTime: 5m"
)

// CoreInstall returns the path of core-install.yaml for the fleet's newest Argo CD, or for an even newer Argo
// CD if next is true.
func CoreInstall(next bool) string {
	folder := "argocd"
	if next {
		folder += "-next"
	}
	return filepath.Join(testkit.Root(), "bin", "manifests", folder, "core-install.yaml")
}

// RenderArgoCDTemplate returns the output of the example's script for a name and a
// core-install.yaml. If the script rejects them, it returns an error.
func RenderArgoCDTemplate(ctx context.Context, name, coreInstall string) ([]byte, error) {
	script := exec.CommandContext(ctx, "bash", filepath.Join(Examples(argoCDExample), "template.sh"), name, coreInstall)
	script.Env = append(os.Environ(), "PATH="+filepath.Join(testkit.Root(), "bin")+":"+os.Getenv("PATH"))
	var refused strings.Builder
	script.Stderr = &refused
	out, err := script.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(refused.String()))
	}
	return out, nil
}

// AddArgoCDTemplate creates an AddOnTemplate on the hub as in the example.
func AddArgoCDTemplate(ctx context.Context, hub *env.Cluster, name, coreInstall string) error {
	text, err := RenderArgoCDTemplate(ctx, name, coreInstall)
	if err != nil {
		return err
	}
	template := &unstructured.Unstructured{}
	if err := template.UnmarshalJSON(text); err != nil {
		return err
	}
	return hub.Client.Create(ctx, template)
}

// OfferArgoCD applies the example with its AddOnTemplate, for clusters that get the label. between is the
// time between two clusters.
func OfferArgoCD(ctx context.Context, hub *env.Cluster, between time.Duration) (err error) {
	defer must.Return(&err)
	must.OK(AddArgoCDTemplate(ctx, hub, ArgoCDTemplate, CoreInstall(false)))
	text := string(must.Get(os.ReadFile(filepath.Join(Examples(argoCDExample), "addon.yaml"))))
	if !strings.Contains(text, exampleTime) {
		return fmt.Errorf("the example has no %s", exampleTime)
	}
	folder := must.Get(os.MkdirTemp("", "argocd-"))
	defer os.RemoveAll(folder)
	must.OK(os.WriteFile(filepath.Join(folder, "addon.yaml"), []byte(strings.Replace(text, exampleTime, "minSuccessTime: "+between.String(), 1)), 0o600))
	return hub.ApplyFiles(ctx, folder)
}

// WantArgoCD sets or removes the label that installs Argo CD on a managed cluster.
func WantArgoCD(ctx context.Context, hub *env.Cluster, cluster string, want bool) error {
	value := "null"
	if want {
		value = `"true"`
	}
	return hub.Client.Patch(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}},
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"install-argocd":%s}}}`, value)))
}
