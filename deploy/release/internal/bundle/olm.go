// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/olm"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

const (
	// olmName is the last part of the repository of the bundle for OLM.
	olmName = "olm-bundle"
	// olmOverlay is the overlay that OLM installs.
	olmOverlay = "rhacm"
	// olmPrerequisites is the file to apply before.
	olmPrerequisites = "olm-prerequisites.yaml"
)

// olmBundle builds the bundle of a rendered installation.
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

// olm builds the bundle for OLM from the manifests among the files. The files are the same for
// every architecture, because OLM unpacks them on a node of any architecture.
func (r *release) olm() (Reference, error) {
	made, err := olmBundle(r.tree, r.files["install-"+olmOverlay+".yaml"], r.Version, r.Options)
	if err != nil {
		return Reference{}, err
	}
	name := Project + "-" + olmName + "-" + r.Version
	if r.files[name+".tgz"], err = pack(made.Files, name, r.tree.Time); err != nil {
		return Reference{}, err
	}
	r.files[olmPrerequisites] = made.Prerequisites
	labels := labelsOf(r.tree, olmName, r.Options)
	maps.Copy(labels, made.Labels)
	return write(olmName, r.images(), labels, r.Options, func(architecture string) (v1.Image, error) {
		return image.Data(architecture, made.Files, labels, r.tree.Time)
	})
}

// WriteOLM writes the bundle of the checkout to a folder, with the images that its manifests name.
// It is for reviews and tests.
func WriteOLM(ctx context.Context, t *source.Tree, kustomize, version, out string, o Options) error {
	rendered, err := render(ctx, kustomize, filepath.Join(t.Root, "deploy", "overlays", olmOverlay))
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
