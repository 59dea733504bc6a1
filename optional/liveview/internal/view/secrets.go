// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"strings"
)

// manifests are the fields of a ResourceDiff that hold a manifest as a string of JSON.
var manifests = []string{"targetState", "liveState", "normalizedLiveState", "predictedLiveState"}

// mask is what Argo CD writes for a value of a Secret. It uses more of them for a value that
// differs.
const mask = "++++++++"

func dropManifests(resources []object) {
	for _, r := range resources {
		for _, field := range append(manifests, "diff") {
			delete(r, field)
		}
	}
}

// maskSecret takes values out of what is known of a Secret. Argo CD has masked its data; this
// is for data that it did not, and for annotations, which tools fill with what they applied.
func maskSecret(r object) error {
	if group, _ := r["group"].(string); r["kind"] != "Secret" || group != "" {
		return nil
	}
	delete(r, "diff") // Argo CD has it empty since 1.8
	for _, field := range manifests {
		text, ok := r[field].(string)
		if !ok || text == "" || text == "null" {
			delete(r, field)
			if ok {
				r[field] = text
			}
			continue
		}
		var manifest object
		if err := decode([]byte(text), &manifest); err != nil {
			return fmt.Errorf("read %s of a Secret: %w", field, err)
		}
		maskManifest(manifest)
		masked, err := json.Marshal(manifest)
		if err != nil {
			return err
		}
		r[field] = string(masked)
	}
	return nil
}

// maskManifest keeps of a Secret what is named here, so that a field that nobody expected
// does not leave.
func maskManifest(manifest object) {
	for field, value := range manifest {
		switch field {
		case "apiVersion", "kind", "type", "immutable":
		case "data", "stringData":
			maskValues(value, "")
		case "metadata":
			metadata, ok := value.(object)
			if !ok {
				delete(manifest, field)
				continue
			}
			delete(metadata, "managedFields")
			maskValues(metadata["annotations"], "argocd.argoproj.io/")
		default:
			delete(manifest, field)
		}
	}
}

// maskValues masks each value of a map but those whose key begins with except.
func maskValues(value any, except string) {
	values, _ := value.(object)
	for key, v := range values {
		text, _ := v.(string)
		masked := len(text) >= len(mask) && strings.Trim(text, "+") == ""
		if kept := except != "" && strings.HasPrefix(key, except); !masked && !kept {
			values[key] = mask
		}
	}
}
