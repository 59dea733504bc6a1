// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Hashes identify a desired spec for an update.
type Hashes struct {
	// Spec identifies the spec. Base identifies the spec without its request.
	Spec, Base string
}

// HashesOf returns the hashes of a spec with the request r.
func HashesOf(spec *workv1.ManifestWorkSpec, r request.Request) (Hashes, error) {
	hash, err := SpecHash(spec)
	if err != nil || r.ID == "" {
		return Hashes{hash, hash}, err
	}
	base, err := baseHash(spec)
	return Hashes{hash, base}, err
}

// baseHash returns the [SpecHash] of a spec without its request.
func baseHash(spec *workv1.ManifestWorkSpec) (string, error) {
	stripped, err := withoutRequest(spec)
	if err != nil {
		return "", err
	}
	return SpecHash(stripped)
}

// SpecHash identifies a work's spec. It ignores the scrape types, because an older CRD drops them.
// The stored spec is then the best possible one.
func SpecHash(spec *workv1.ManifestWorkSpec) (string, error) {
	hash := sha256.New()
	for i := range spec.Workload.Manifests {
		raw := spec.Workload.Manifests[i].Raw
		_, _ = fmt.Fprintf(hash, "%d:", len(raw)) // writing to a hash returns no error
		_, _ = hash.Write(raw)
	}
	rest := *spec
	rest.Workload = workv1.ManifestsTemplate{}
	rest.ManifestConfigs = make([]workv1.ManifestConfigOption, len(spec.ManifestConfigs))
	for i, config := range spec.ManifestConfigs {
		config.FeedbackScrapeType = ""
		rest.ManifestConfigs[i] = config
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return "", fmt.Errorf("encode ManifestWork options: %w", err)
	}
	_, _ = hash.Write(raw)
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}

// withoutRequest returns one of our specs without its request.
func withoutRequest(spec *workv1.ManifestWorkSpec) (*workv1.ManifestWorkSpec, error) {
	stripped := spec.DeepCopy()
	last := len(stripped.Workload.Manifests) - 1
	if last < 0 || len(stripped.ManifestConfigs) == 0 {
		return stripped, nil
	}
	var app deliveredApplication
	if err := json.Unmarshal(stripped.Workload.Manifests[last].Raw, &app); err != nil {
		return nil, fmt.Errorf("decode delivered Application: %w", err)
	}
	app.Operation, app.Status = nil, nil
	delete(app.Metadata.Annotations, contract.RequestAnnotation)
	delete(app.Metadata.Annotations, argocd.RefreshAnnotation)
	delete(app.Metadata.Annotations, argocd.HydrateAnnotation)
	raw, err := encode("Application", app)
	if err != nil {
		return nil, err
	}
	stripped.Workload.Manifests[last].Raw = raw
	for i := range stripped.ManifestConfigs[len(stripped.ManifestConfigs)-1].FeedbackRules {
		rule := &stripped.ManifestConfigs[len(stripped.ManifestConfigs)-1].FeedbackRules[i]
		rule.JsonPaths = slices.DeleteFunc(rule.JsonPaths, func(p workv1.JsonPath) bool {
			return slices.Contains(contract.RequestPaths(), p)
		})
	}
	return stripped, nil
}
