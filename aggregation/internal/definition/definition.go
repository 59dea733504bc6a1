// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition compares the hub's CustomResourceDefinition of reports with the fields that
// aggregation writes. If another project owns it, as on a hub with RHACM, the API server drops
// fields that it does not have.
package definition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// property is a schema of OpenAPI, as far as it is read.
type property struct {
	Properties map[string]*property      `json:"properties"`
	Items      *property                 `json:"items"`
	Preserve   bool                      `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

// Report logs once which fields of reports the hub drops.
func Report(config *rest.Config, log logr.Logger) func(context.Context) error {
	return func(context.Context) error {
		lacking, err := missing(config)
		switch {
		case err != nil:
			log.Error(err, "cannot compare the CustomResourceDefinition of MulticlusterApplicationSetReports with what is written")
		case len(lacking) > 0:
			log.Info("the CustomResourceDefinition of MulticlusterApplicationSetReports lacks fields, which the API server drops from each report: apply deploy/base/crd, or see docs/report.md if another project owns it",
				"fields", strings.Join(lacking, " "))
		}
		return nil
	}
}

// missing returns the paths of the fields of a report that the hub's definition lacks.
func missing(config *rest.Config) ([]string, error) {
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := served.OpenAPIV3().Paths()
	if err != nil {
		return nil, fmt.Errorf("list the schemas of the API server: %w", err)
	}
	kind := v1alpha1.GroupVersion.WithKind("MulticlusterApplicationSetReport")
	raw, err := document(groups, "apis/"+kind.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	var all struct {
		Components struct {
			Schemas map[string]*property `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", kind.GroupVersion(), err)
	}
	for _, p := range all.Components.Schemas {
		if slices.Contains(p.Kinds, kind) {
			fields := p.lacks(reflect.TypeFor[v1alpha1.MulticlusterApplicationSetReport](), "")
			slices.Sort(fields)
			return fields, nil
		}
	}
	return nil, fmt.Errorf("the API server serves no %s: apply deploy/base/crd", kind.Kind)
}

func document(groups map[string]openapi.GroupVersion, path string) ([]byte, error) {
	group, found := groups[path]
	if !found {
		return nil, errors.New("the API server serves nothing of " + path)
	}
	raw, err := group.Schema("application/json")
	if err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", path, err)
	}
	return raw, nil
}

// lacks returns the paths of the fields of a type that a schema does not have.
func (p *property) lacks(t reflect.Type, path string) (lacking []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice && p != nil {
			p = p.Items
		}
		t = t.Elem()
	}
	leaf := t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
	if p == nil || leaf || p.Preserve {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue // metadata and kind, which every object has
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if p.Properties[name] == nil {
			lacking = append(lacking, at)
			continue
		}
		lacking = append(lacking, p.Properties[name].lacks(f.Type, at)...)
	}
	return lacking
}
