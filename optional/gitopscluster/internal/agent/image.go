// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

// Registries reads the value of the ManagedCluster's annotation
// open-cluster-management.io/image-registries, which add-ons follow.
func Registries(annotation string) ([]addonv1alpha1.ImageMirror, error) {
	if annotation == "" {
		return nil, nil
	}
	var list struct {
		Registries []addonv1alpha1.ImageMirror `json:"registries"`
	}
	if err := json.Unmarshal([]byte(annotation), &list); err != nil {
		return nil, fmt.Errorf(`want {"registries":[{"source":"…","mirror":"…"}]}: %w`, err)
	}
	return list.Registries, nil
}

// Mirrored returns an image as a managed cluster can pull it. Registries are read as OCM's
// add-ons read them: of several that match the last counts.
func Mirrored(image string, registries []addonv1alpha1.ImageMirror) string {
	mirrored := image
	for _, r := range registries {
		if m := mirror(image, strings.TrimSuffix(r.Source, "/"), strings.TrimSuffix(r.Mirror, "/")); m != image {
			mirrored = m
		}
	}
	return mirrored
}

func mirror(image, source, mirror string) string {
	if source == "" {
		name := image[strings.LastIndex(image, "/")+1:]
		if mirror == "" {
			return name
		}
		return mirror + "/" + name
	}
	rest, matches := strings.CutPrefix(image, source)
	if !matches {
		return image
	}
	return mirror + rest
}
