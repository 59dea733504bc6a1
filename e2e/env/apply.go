// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// fieldOwner is the field manager of applied files.
const fieldOwner = "e2e"

// ReadObjects returns the objects in YAML files. For a folder it reads its *.yaml files.
func ReadObjects(paths ...string) (_ []*unstructured.Unstructured, err error) {
	defer must.Return(&err)
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			files = must.Get(filepath.Glob(filepath.Join(path, "*.yaml")))
			slices.Sort(files)
		}
		for _, file := range files {
			content := must.Get(os.ReadFile(file))
			read, err := parseObjects(content)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			objects = append(objects, read...)
		}
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("no objects in %s", strings.Join(paths, ", "))
	}
	return objects, nil
}

func parseObjects(content []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 && o.GetKind() != "Kustomization" {
			objects = append(objects, o)
		}
	}
}

// ApplyFiles applies YAML files, or the *.yaml files of folders, as they are.
func (c *Cluster) ApplyFiles(ctx context.Context, paths ...string) error {
	objects, err := ReadObjects(paths...)
	if err != nil {
		return err
	}
	return c.Apply(ctx, objects...)
}

// Apply applies objects in their order by server-side apply. It waits for a kind that the API server does not
// serve yet, and for a namespace that does not exist yet.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		err := c.patiently(ctx, "apply", o, func(ctx context.Context) error {
			return c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(fieldOwner), client.ForceOwnership)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// patiently writes an object. It retries while the API server does not serve the kind or does not have the
// namespace, and if a busy machine responds too late.
func (c *Cluster) patiently(ctx context.Context, verb string, o *unstructured.Unstructured, write func(context.Context) error) error {
	var failed error
	err := Wait(ctx, c.Name+" to take it and to know its kind and namespace", func(ctx context.Context) (bool, string) {
		failed = write(ctx)
		passes := meta.IsNoMatchError(failed) || apierrors.IsNotFound(failed) || apierrors.IsServiceUnavailable(failed) ||
			apierrors.IsTimeout(failed) || apierrors.IsServerTimeout(failed)
		return !passes, fmt.Sprint(failed)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("%s %s %s on %s: %w", verb, o.GetKind(), client.ObjectKeyFromObject(o), c.Name, err)
	}
	return nil
}

// install creates CRDs of other projects and waits until the API server serves them. It does not apply them,
// because apply would store a second copy of these large objects.
func (c *Cluster) install(ctx context.Context, paths ...string) (err error) {
	defer must.Return(&err)
	crds := must.Get(ReadObjects(paths...))
	for _, crd := range crds {
		must.OK(c.patiently(ctx, "create", crd, func(ctx context.Context) error { return client.IgnoreAlreadyExists(c.Client.Create(ctx, crd)) }))
	}
	return c.awaitServed(ctx, crds)
}

// awaitServed waits until the API server serves the kinds of CRDs.
func (c *Cluster) awaitServed(ctx context.Context, crds []*unstructured.Unstructured) (err error) {
	defer must.Return(&err)
	for _, crd := range crds {
		must.OK(Wait(ctx, fmt.Sprintf("CRD %s on %s to be served", crd.GetName(), c.Name), func(ctx context.Context) (bool, string) {
			if err := c.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
				return false, err.Error()
			}
			conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
			if err != nil {
				return false, err.Error()
			}
			for _, each := range conditions {
				if condition, ok := each.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
					return c.discovered(crd)
				}
			}
			return false, fmt.Sprint(conditions)
		}))
	}
	return nil
}

// discovered reports whether discovery lists the kind of a CRD in each version. Discovery may list the kind a
// moment after the CRD is established, and a binary that starts before that exits with an error.
func (c *Cluster) discovered(crd *unstructured.Unstructured) (bool, string) {
	parsed := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, parsed); err != nil {
		return false, err.Error()
	}
	kind := schema.GroupKind{Group: parsed.Spec.Group, Kind: parsed.Spec.Names.Kind}
	for _, version := range parsed.Spec.Versions {
		if !version.Served {
			continue
		}
		if _, err := c.Client.RESTMapper().RESTMapping(kind, version.Name); err != nil {
			return false, err.Error()
		}
	}
	return true, ""
}
