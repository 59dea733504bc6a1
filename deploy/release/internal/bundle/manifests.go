// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Placeholder is the registry in the manifests of the checkout. A registry of that name cannot
// exist.
const Placeholder = "registry.invalid"

// manifests builds the files that users apply with kubectl, with every image pinned. It writes one
// file for each overlay, and the kustomize folders as an archive.
func (r *release) manifests(ctx context.Context, references []Reference) error {
	files, err := readFiles(filepath.Join(r.tree.Root, "deploy"))
	if err != nil {
		return err
	}
	maps.DeleteFunc(files, func(name string, _ []byte) bool {
		top, _, _ := strings.Cut(name, "/")
		return top == "chart" || top == "olm" || top == "release" || top == "generate.sh" || top == "install.yaml"
	})
	// `kustomize edit set image` does not change files that are not kustomizations: values for
	// other charts, and a patch of a custom resource.
	for name, content := range files {
		for _, reference := range references {
			tagged := Placeholder + "/" + Project + "/" + reference.Name + ":" + r.tree.Version
			content = bytes.ReplaceAll(content, []byte(tagged), []byte(reference.Pinned()))
		}
		if bytes.Contains(content, []byte(Placeholder)) {
			return fmt.Errorf("deploy/%s names an image in %s that is none of the release's, or not version %s", name, Placeholder, r.tree.Version)
		}
		files[name] = content
	}
	deploy, err := os.MkdirTemp("", "manifests-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(deploy) }() // copies
	if err := writeFiles(deploy, files); err != nil {
		return err
	}
	overlays, err := filepath.Glob(filepath.Join(deploy, "overlays", "*"))
	if err != nil {
		return err
	}
	for _, overlay := range overlays {
		rendered, err := render(ctx, r.Kustomize, overlay)
		if err != nil {
			return err
		}
		name := "install-" + filepath.Base(overlay) + ".yaml"
		r.files[strings.Replace(name, "-ocm.", ".", 1)] = rendered
	}
	r.files[Project+"-kustomize-"+r.Version+".tgz"], err = pack(files, Project+"-"+r.Version, r.tree.Time)
	return err
}

func render(ctx context.Context, kustomize, overlay string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var errs bytes.Buffer
	command := exec.CommandContext(ctx, kustomize, "build", overlay)
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("render %s with %s: %w\n%s", overlay, kustomize, err, errs.Bytes())
	}
	return out, nil
}

// chart builds the Helm chart of this version. Its default values pin the images.
func (r *release) chart(references []Reference) error {
	files, err := readFiles(filepath.Join(r.tree.Root, "deploy", "chart"))
	if err != nil {
		return err
	}
	edit := func(name string, change func(*yaml.RNode) error) {
		if err != nil {
			return
		}
		var root *yaml.RNode
		if root, err = yaml.Parse(string(files[name])); err != nil {
			return
		}
		if err = change(root); err == nil {
			files[name] = []byte(root.MustString())
		}
	}
	set := func(node *yaml.RNode, field, value string) error {
		return node.PipeE(yaml.FieldSetter{Name: field, StringValue: value, OverrideStyle: true})
	}
	edit("Chart.yaml", func(root *yaml.RNode) error {
		if err := set(root, "version", r.Version); err != nil {
			return err
		}
		return set(root, "appVersion", r.Version)
	})
	edit("values.yaml", func(root *yaml.RNode) error {
		if err := root.PipeE(yaml.Lookup("image"), yaml.FieldSetter{Name: "registry", StringValue: r.Registry}); err != nil {
			return err
		}
		for _, reference := range references {
			container, err := root.Pipe(yaml.Lookup(reference.Name))
			if err != nil || container == nil || container.Field("digest") == nil {
				continue // the chart does not run it
			}
			if err := set(container, "tag", reference.Tag); err != nil {
				return err
			}
			if err := set(container, "digest", reference.Digest.String()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set the version and the images of the chart: %w", err)
	}
	r.files[ChartFile(r.Version)], err = pack(files, Project, r.tree.Time)
	return err
}

// ChartFile returns the name that helm gives a chart's archive.
func ChartFile(version string) string { return Project + "-" + version + ".tgz" }
