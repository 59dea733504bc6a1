// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package olm builds a bundle for the Operator Lifecycle Manager from rendered manifests. Objects
// that OLM does not create, or creates too late, go into a file of prerequisites.
package olm

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// These are the folders of a bundle in the format registry+v1.
const (
	manifestsFolder = "manifests"
	metadataFolder  = "metadata"
)

// packageAnnotation names the bundle's package.
const packageAnnotation = "operators.operatorframework.io.bundle.package.v1"

// Input is the input of a bundle.
type Input struct {
	// Rendered are the manifests of an installation, with its images.
	Rendered []byte
	// CSV has the fields of the ClusterServiceVersion that only a person can write.
	CSV []byte
	// Annotations is the content of metadata/annotations.yaml.
	Annotations []byte
	// Version is the semantic version of the bundle.
	Version string
	Created time.Time
	// Architectures are Go's names of the architectures of the images.
	Architectures []string
	// Source is the public address of the repository, or empty if it is unknown.
	Source string
}

// Bundle has the published files.
type Bundle struct {
	// Files are the files of the bundle by their path.
	Files map[string][]byte
	// Labels are the labels of the bundle's image.
	Labels map[string]string
	// Prerequisites are manifests to apply before OLM installs the bundle.
	Prerequisites []byte
}

// object is a Kubernetes object in its YAML form.
type object = map[string]any

// New builds a bundle. Equal input gives equal bytes.
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

// labels returns the annotations, which a catalog reads as labels of the image.
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

// field returns the value at a path of keys, or the zero value.
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

// child returns the mapping at key, and creates it if it does not exist.
func child(o object, key string) object {
	found, ok := o[key].(object)
	if !ok {
		found = object{}
		o[key] = found
	}
	return found
}
