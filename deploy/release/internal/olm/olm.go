// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package olm makes a bundle for the Operator Lifecycle Manager from rendered manifests.
// What OLM would not make, or not in time, becomes a file of prerequisites.
package olm

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Folders of a bundle in the format registry+v1.
const (
	manifestsFolder = "manifests"
	metadataFolder  = "metadata"
)

// packageAnnotation names the bundle's package.
const packageAnnotation = "operators.operatorframework.io.bundle.package.v1"

// Input is what a bundle is made of.
type Input struct {
	// Rendered are the manifests of an installation, with its images.
	Rendered []byte
	// CSV is what only a person can say of the ClusterServiceVersion.
	CSV []byte
	// Annotations are metadata/annotations.yaml.
	Annotations []byte
	// Version is the bundle's, as a semantic version.
	Version string
	Created time.Time
	// Architectures are Go's names of those that the images are for.
	Architectures []string
	// Source is the repository's public address; empty: unknown.
	Source string
}

// Bundle is what is published.
type Bundle struct {
	// Files are by their path in the bundle.
	Files map[string][]byte
	// Labels are those of the bundle's image.
	Labels map[string]string
	// Prerequisites are manifests to apply before OLM installs the bundle.
	Prerequisites []byte
}

// object is a Kubernetes object as it is written in YAML.
type object = map[string]any

// New makes a bundle. Equal input gives equal bytes.
func New(in Input) (*Bundle, error) {
	objects, err := parse(in.Rendered)
	if err != nil {
		return nil, err
	}
	sorted, err := sortOut(objects)
	if err != nil {
		return nil, err
	}
	out := &Bundle{Files: map[string][]byte{}}
	if out.Labels, err = labels(in.Annotations); err != nil {
		return nil, err
	}
	csv, err := in.csv(sorted, out.Labels[packageAnnotation])
	if err != nil {
		return nil, err
	}
	out.Files[path.Join(metadataFolder, "annotations.yaml")] = in.Annotations
	for _, o := range append([]object{csv}, sorted.bundled...) {
		name := fmt.Sprintf("%s.%s.yaml", nameOf(o), strings.ToLower(kindOf(o)))
		if out.Files[path.Join(manifestsFolder, name)], err = yaml.Marshal(o); err != nil {
			return nil, err
		}
	}
	out.Prerequisites, err = join(sorted.prerequisites)
	return out, err
}

// labels are the annotations, which a catalog reads from the image.
func labels(annotations []byte) (map[string]string, error) {
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.UnmarshalStrict(annotations, &file); err != nil {
		return nil, fmt.Errorf("read the bundle's annotations: %w", err)
	}
	if file.Annotations[packageAnnotation] == "" {
		return nil, fmt.Errorf("the bundle's annotations do not name its package in %s", packageAnnotation)
	}
	return file.Annotations, nil
}

func parse(rendered []byte) ([]object, error) {
	var out []object
	for _, document := range bytes.Split(append([]byte("\n"), rendered...), []byte("\n---\n")) {
		var o object
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, fmt.Errorf("parse rendered manifests: %w", err)
		}
		if len(o) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

func join(objects []object) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

// field returns what is at a path of keys, or the zero value.
func field[T any](o object, keys ...string) T {
	var zero T
	for _, key := range keys[:len(keys)-1] {
		next, ok := o[key].(object)
		if !ok {
			return zero
		}
		o = next
	}
	value, ok := o[keys[len(keys)-1]].(T)
	if !ok {
		return zero
	}
	return value
}

func kindOf(o object) string      { return field[string](o, "kind") }
func nameOf(o object) string      { return field[string](o, "metadata", "name") }
func namespaceOf(o object) string { return field[string](o, "metadata", "namespace") }

// child returns the mapping at key, and makes it when it is not there.
func child(o object, key string) object {
	found, ok := o[key].(object)
	if !ok {
		found = object{}
		o[key] = found
	}
	return found
}
