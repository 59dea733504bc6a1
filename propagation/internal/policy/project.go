// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "encoding/json"

// SignaturesOf returns the field of a project's spec that requires signed commits, or "".
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
