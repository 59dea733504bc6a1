// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Mirrored returns an image as a managed cluster can pull it: registries is the value
// of the ManagedCluster's annotation open-cluster-management.io/image-registries, which
// add-ons follow, and read here as they read it: of several that match the last counts.
func Mirrored(image, registries string) (string, error) {
	if registries == "" {
		return image, nil
	}
	var said struct {
		Registries []struct{ Source, Mirror string }
	}
	if err := json.Unmarshal([]byte(registries), &said); err != nil {
		return "", fmt.Errorf(`want {"registries":[{"source":"…","mirror":"…"}]}: %w`, err)
	}
	mirrored := image
	for _, r := range said.Registries {
		if m := mirror(image, strings.TrimSuffix(r.Source, "/"), strings.TrimSuffix(r.Mirror, "/")); m != image {
			mirrored = m
		}
	}
	return mirrored, nil
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
