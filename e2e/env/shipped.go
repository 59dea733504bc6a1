// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// Account returns the name of the ServiceAccount of a binary of the product in [ProductNamespace].
// propagation has the pod's account.
func Account(binary string) string {
	if binary == Propagation {
		return ProductNamespace
	}
	return ProductNamespace + "-" + binary
}

// components returns the components of deploy that the options need.
func (o Options) components() (names []string) {
	for _, c := range []struct {
		wanted bool
		name   string
	}{
		{o.GitOpsClusters, "gitopsclusters"},
		{o.Agents, "gitopsclusters-agent"},
		{o.Page, "page"},
		{slices.Contains(o.Product, Placement), "placement"},
		{o.Rendered || slices.Contains(o.Product, RenderedMode), "rendered"},
	} {
		if c.wanted {
			names = append(names, c.name)
		}
	}
	return names
}

// Install applies the manifests of the checkout at root to a hub: overlay ocm with components. It omits
// Deployments, because processes replace the pods. It returns when the API server serves the kinds.
func (c *Cluster) Install(ctx context.Context, root string, components ...string) (err error) {
	defer must.Return(&err)
	objects := withoutDeployments(must.Get(Render(ctx, root, filepath.Join("overlays", "ocm"), components...)))
	must.OK(c.Apply(ctx, objects...))
	return c.awaitServed(ctx, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "CustomResourceDefinition" }))
}

func withoutDeployments(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
}

// Render renders a folder of deploy in the checkout at root with components of deploy/components, like a
// user's kustomization.
func Render(ctx context.Context, root, folder string, components ...string) (_ []*unstructured.Unstructured, err error) {
	defer must.Return(&err)
	kustomize := must.Get(part("kustomize"))
	deploy := must.Get(filepath.EvalSymlinks(filepath.Join(root, "deploy")))
	dir := must.Get(os.MkdirTemp("", folderPrefix+"render-"))
	defer func() { _ = os.RemoveAll(dir) }()
	dir = must.Get(filepath.EvalSymlinks(dir))
	reach := func(path ...string) string { // kustomize accepts only relative paths
		return must.Get(filepath.Rel(dir, filepath.Join(append([]string{deploy}, path...)...)))
	}
	own := map[string][]string{"resources": {reach(folder)}, "components": {}}
	for _, c := range components {
		own["components"] = append(own["components"], reach("components", c))
	}
	must.OK(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), must.Get(json.Marshal(own)), 0o600))
	var errs bytes.Buffer
	command := exec.CommandContext(ctx, kustomize, "build", dir)
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("render %s of %s with components %q: %w: %s", folder, deploy, components, err, errs.Bytes())
	}
	return parseObjects(out)
}
