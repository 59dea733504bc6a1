// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Decode reads the documents of one file, or of one tool's output. Empty documents
// are skipped and lists are taken apart. Errors name file and document, never a
// value.
func Decode(file string, text []byte) ([]Manifest, error) {
	var all []Manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		origin := fmt.Sprintf("%s, document %d", file, n)
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", origin, err)
		}
		if !json.Valid(raw) { // JSON may be indented by tabs, YAML may not
			if raw, err = yaml.YAMLToJSON(raw); err != nil {
				return nil, fmt.Errorf("%s: %w", origin, err)
			}
		}
		var document any
		numbers := json.NewDecoder(bytes.NewReader(raw))
		numbers.UseNumber()
		if err := numbers.Decode(&document); err != nil {
			return nil, fmt.Errorf("%s: %w", origin, err)
		}
		manifests, err := objects(origin, document)
		if err != nil {
			return nil, err
		}
		all = append(all, manifests...)
	}
}

func objects(origin string, document any) ([]Manifest, error) {
	if document == nil {
		return nil, nil
	}
	object, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: want a Kubernetes object", origin)
	}
	items, isList := object["items"].([]any)
	if kind, _ := object["kind"].(string); !isList || !strings.HasSuffix(kind, "List") {
		m, err := newManifest(origin, object)
		if err != nil {
			return nil, err
		}
		return []Manifest{m}, nil
	}
	var all []Manifest
	for i, item := range items {
		manifests, err := objects(fmt.Sprintf("%s, item %d", origin, i+1), item)
		if err != nil {
			return nil, err
		}
		all = append(all, manifests...)
	}
	return all, nil
}

func newManifest(origin string, object map[string]any) (Manifest, error) {
	normalize(object)
	delete(object, "status")
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || apiVersion == "" || kind == "" || metadata == nil {
		return Manifest{}, fmt.Errorf("%s: want a Kubernetes object with apiVersion, kind and metadata", origin)
	}
	for _, key := range []string{"labels", "annotations"} {
		if err := checkStrings(metadata, key); err != nil {
			return Manifest{}, fmt.Errorf("%s: %s: %w", origin, kind, err)
		}
	}
	name, _ := metadata["name"].(string)
	if name == "" {
		return Manifest{}, fmt.Errorf("%s: %s: want metadata.name as a string; generateName cannot be delivered", origin, kind)
	}
	namespace, isString := metadata["namespace"].(string)
	if _, found := metadata["namespace"]; found && !isString {
		return Manifest{}, fmt.Errorf("%s: %s %s: want metadata.namespace as a string", origin, kind, name)
	}
	return Manifest{Group: gv.Group, Version: gv.Version, Kind: kind, Namespace: namespace, Name: name, Object: object, Origin: origin}, nil
}

func checkStrings(metadata map[string]any, key string) error {
	value, found := metadata[key]
	if !found {
		return nil
	}
	values, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("want metadata.%s as a map", key)
	}
	for name, v := range values {
		if _, ok := v.(string); !ok {
			return fmt.Errorf("want metadata.%s[%s] as a string, in quotes", key, name)
		}
	}
	return nil
}

// normalize removes, at every depth, fields that the API server would drop or that no controller
// reads. These are null fields, and the empty status that Go types add to an embedded object, such
// as a volume claim template. A single null that the API server drops would make an Application
// OutOfSync forever.
func normalize(object map[string]any) {
	for key, value := range object {
		if value == nil {
			delete(object, key)
			continue
		}
		normalizeValue(value)
	}
	if status, isMap := object["status"].(map[string]any); isMap && len(status) == 0 && object["metadata"] != nil && object["spec"] != nil {
		delete(object, "status")
	}
}

func normalizeValue(value any) {
	switch v := value.(type) {
	case map[string]any:
		normalize(v)
	case []any:
		for _, item := range v {
			normalizeValue(item)
		}
	}
}
