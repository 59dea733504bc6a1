// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"strings"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
)

// ProjectAllows reports whether a project's destinations let the delivered copy of
// an Application through, by the rules of Argo CD: one entry must match and no
// entry with "!" may turn it away. A spec that cannot be read allows.
func ProjectAllows(project, spec json.RawMessage, annotations map[string]string) bool {
	type place struct {
		Server    string `json:"server"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	var p struct {
		Destinations []place `json:"destinations"`
	}
	var s struct {
		Destination place `json:"destination"`
	}
	if json.Unmarshal(project, &p) != nil || json.Unmarshal(spec, &s) != nil {
		return true
	}
	to := s.Destination
	to.Name, to.Server = payload.Destination(annotations)
	allowed := false
	for _, d := range p.Destinations {
		name := to.Name != "" && matches(d.Name, to.Name)
		server := to.Server != "" && matches(d.Server, to.Server)
		namespace := matches(d.Namespace, to.Namespace)
		switch {
		case (server || name) && namespace:
			allowed = true
		case !name && denies(d.Name),
			!server && denies(d.Server) && namespace,
			!namespace && denies(d.Namespace) && server:
			return false
		}
	}
	return allowed
}

// SignaturesOf returns the field of a project's spec that demands signed commits, "" for none.
func SignaturesOf(project json.RawMessage) string {
	var p struct {
		SignatureKeys   []json.RawMessage `json:"signatureKeys"`
		SourceIntegrity map[string]any    `json:"sourceIntegrity"`
	}
	switch err := json.Unmarshal(project, &p); {
	case err != nil:
		return ""
	case len(p.SourceIntegrity) > 0:
		return "sourceIntegrity"
	case len(p.SignatureKeys) > 0:
		return "signatureKeys"
	}
	return ""
}

func denies(glob string) bool { return strings.HasPrefix(glob, "!") }

// matches is Argo CD's glob for destinations: "!" in front turns it round.
func matches(glob, value string) bool {
	if denies(glob) {
		return !matches(glob[1:], value)
	}
	return glob == "*" || pattern.Glob(glob, value)
}
