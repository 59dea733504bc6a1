// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/attest"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/olm"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

const (
	// olmName is the last part of the repository of the bundle for OLM.
	olmName = "olm-bundle"
	// olmOverlay is what OLM installs.
	olmOverlay = "rhacm"
	// olmPrerequisites is the file that is applied before.
	olmPrerequisites = "olm-prerequisites.yaml"
)

// olmBundle makes the bundle of an installation that is rendered.
func olmBundle(t *source.Tree, rendered []byte, version string, o Options) (*olm.Bundle, error) {
	folder := filepath.Join(t.Root, "deploy", "olm")
	csv, err := os.ReadFile(filepath.Join(folder, "csv.yaml"))
	if err != nil {
		return nil, err
	}
	annotations, err := os.ReadFile(filepath.Join(folder, "annotations.yaml"))
	if err != nil {
		return nil, err
	}
	made, err := olm.New(olm.Input{
		Rendered: rendered, CSV: csv, Annotations: annotations,
		Version: version, Created: t.Time, Architectures: o.Architectures, Source: o.Source,
	})
	if err != nil {
		return nil, fmt.Errorf("make the OLM bundle of deploy/overlays/%s and deploy/olm: %w", olmOverlay, err)
	}
	return made, nil
}

// olm writes the bundle for OLM of the manifests that are among the files by now.
func (r *release) olm(ctx context.Context) (Reference, error) {
	rendered, err := os.ReadFile(filepath.Join(r.Out, "files", "install-"+olmOverlay+".yaml"))
	if err != nil {
		return Reference{}, err
	}
	made, err := olmBundle(r.tree, rendered, r.Version, r.Options)
	if err != nil {
		return Reference{}, err
	}
	folder, err := os.MkdirTemp("", "olm-")
	if err != nil {
		return Reference{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // copies
	if err := writeFiles(folder, made.Files); err != nil {
		return Reference{}, err
	}
	name := Project + "-" + olmName + "-" + r.Version
	archive, err := pack(folder, name, r.tree.Time)
	if err != nil {
		return Reference{}, fmt.Errorf("pack the OLM bundle: %w", err)
	}
	if err := errors.Join(r.file(name+".tgz", archive), r.file(olmPrerequisites, made.Prerequisites)); err != nil {
		return Reference{}, err
	}
	built, err := olmImage(ctx, r.tree, made, strings.TrimSuffix(r.Version, r.Suffix), r.Options)
	if err != nil {
		return Reference{}, err
	}
	return r.publish(built)
}

// olmImage makes the image of a bundle: the same files for every architecture, since
// OLM unpacks it on a node of any.
func olmImage(ctx context.Context, t *source.Tree, made *olm.Bundle, version string, o Options) (*Image, error) {
	c := source.Container{Name: olmName, Version: version}
	out := newImage(c, o, labelsOf(t, c, version+o.Suffix, o.Source))
	labels := labelsOf(t, c, version+o.Suffix, o.Source)
	maps.Copy(labels, made.Labels)
	var products []attest.Product
	for _, architecture := range o.Architectures {
		data, err := image.Data(architecture, made.Files, labels, t.Time)
		if err != nil {
			return nil, fmt.Errorf("make the image of the OLM bundle for linux/%s: %w", architecture, err)
		}
		product, err := out.add(data, architecture)
		if err != nil {
			return nil, err
		}
		products = append(products, product)
	}
	return out, out.prove(ctx, t, o, nil, products)
}

// WriteOLM writes the bundle of a checkout as it is, with the images that its manifests
// name, to a folder: to look at, or to try.
func WriteOLM(ctx context.Context, t *source.Tree, kustomize, version, out string, o Options) error {
	r := release{Request: Request{Kustomize: kustomize}}
	rendered, err := r.render(ctx, filepath.Join(t.Root, "deploy", "overlays", olmOverlay))
	if err != nil {
		return err
	}
	made, err := olmBundle(t, rendered, version, o)
	if err != nil {
		return err
	}
	if err := writeFiles(filepath.Join(out, olmName), made.Files); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, olmPrerequisites), made.Prerequisites, 0o644)
}

func writeFiles(folder string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
