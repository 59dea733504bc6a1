// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// manifests are the fields of a ResourceDiff that hold a manifest as a string of JSON.
var manifests = []string{"targetState", "liveState", "normalizedLiveState", "predictedLiveState"}

// mask is the text that Argo CD writes for a value of a Secret. It uses more characters for a value
// that differs.
const mask = "++++++++"

// ofSecret are the other fields that are kept of a ResourceDiff of a Secret.
var ofSecret = []string{"group", "kind", "namespace", "name", "hook", "resourceVersion", "modified"}

func dropManifests(resources []object) {
	for _, r := range resources {
		for _, field := range append(manifests, "diff") {
			delete(r, field)
		}
	}
}

// maskSecret removes the values of a Secret. Argo CD has masked its data. maskSecret handles data
// that Argo CD has not masked, and annotations in which tools store a copy of the object.
func maskSecret(r object) error {
	if group, _ := r["group"].(string); r["kind"] != "Secret" || group != "" {
		return nil
	}
	maps.DeleteFunc(r, func(field string, _ any) bool {
		return !slices.Contains(manifests, field) && !slices.Contains(ofSecret, field)
	})
	for _, field := range manifests {
		text, ok := r[field].(string)
		if !ok {
			delete(r, field)
		}
		if text == "" || text == "null" {
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

// maskManifest keeps only the listed fields of a Secret, so that no unexpected field is sent.
func maskManifest(manifest object) {
	for field, value := range manifest {
		switch field {
		case "apiVersion", "kind", "type", "immutable":
		case "data", "stringData":
			maskValues(manifest, field, "")
		case "metadata":
			metadata, ok := value.(object)
			if !ok {
				delete(manifest, field)
				continue
			}
			delete(metadata, "managedFields")
			maskValues(metadata, "annotations", "argocd.argoproj.io/")
		default:
			delete(manifest, field)
		}
	}
}

// maskValues masks each value of a map, except for keys that begin with except. A field that should
// be a map and is not is removed, because Argo CD does not mask it.
func maskValues(of object, field, except string) {
	values, ok := of[field].(object)
	if !ok {
		delete(of, field)
		return
	}
	for key, v := range values {
		text, _ := v.(string)
		masked := len(text) >= len(mask) && strings.Trim(text, "+") == ""
		if kept := except != "" && strings.HasPrefix(key, except); !masked && !kept {
			values[key] = mask
		}
	}
}
