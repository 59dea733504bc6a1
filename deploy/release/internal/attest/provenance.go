// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attest makes what is said about an image: its bill of materials and its
// provenance.
package attest

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of the statements.
const (
	SPDX   types.MediaType = "application/spdx+json"
	InToto types.MediaType = "application/vnd.in-toto+json"
)

const (
	statementType = "https://in-toto.io/Statement/v1"
	// PredicateType is that of SLSA's provenance.
	PredicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://open-cluster-management.io/multicluster-integrations/deploy/release/images/v1"
)

// Build says how images came about.
type Build struct {
	Container, Version string
	// Source is the repository's address, or "" when nobody said.
	Source   string
	Revision string
	// Builder identifies who ran the build.
	Builder   string
	GoVersion string
	Flags     []string
	Platforms []string
}

// Product is an image, or the index of several.
type Product struct {
	Name   string
	Digest v1.Hash
}

type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition definition `json:"buildDefinition"`
	RunDetails      run        `json:"runDetails"`
}

type definition struct {
	BuildType            string         `json:"buildType"`
	ExternalParameters   map[string]any `json:"externalParameters"`
	InternalParameters   map[string]any `json:"internalParameters"`
	ResolvedDependencies []dependency   `json:"resolvedDependencies"`
}

type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

type run struct {
	Builder builder `json:"builder"`
}

type builder struct {
	ID string `json:"id"`
}

// Provenance is an in-toto statement with SLSA's provenance about products. It holds
// no time, so that a build of the same sources by the same builder says the same.
func Provenance(b Build, products ...Product) ([]byte, error) {
	sources := "pkg:golang/open-cluster-management.io/multicluster-integrations"
	if b.Source != "" {
		sources = "git+" + b.Source
	}
	s := statement{Type: statementType, PredicateType: PredicateType, Predicate: predicate{
		BuildDefinition: definition{
			BuildType:          buildType,
			ExternalParameters: map[string]any{"container": b.Container, "version": b.Version, "platforms": b.Platforms},
			InternalParameters: map[string]any{"flags": b.Flags},
			ResolvedDependencies: []dependency{
				{URI: sources, Digest: map[string]string{"gitCommit": b.Revision}},
				{URI: "pkg:golang/toolchain@" + b.GoVersion},
			},
		},
		RunDetails: run{Builder: builder{ID: b.Builder}},
	}}
	for _, p := range products {
		s.Subject = append(s.Subject, subject{Name: p.Name, Digest: map[string]string{p.Digest.Algorithm: p.Digest.Hex}})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(s); err != nil {
		return nil, fmt.Errorf("encode the provenance of %s: %w", b.Container, err)
	}
	return out.Bytes(), nil
}
