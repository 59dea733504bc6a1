// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import "open-cluster-management.io/multicluster-integrations/shared/contract"

// Mark is an annotation of a ManifestWork. It means that the delivered objects stay on the cluster,
// and names who asked for that.
type Mark string

// These are the marks.
const (
	NoMark        Mark = ""
	ByApplication Mark = "app"
	BySet         Mark = "set"
)

// MarkOf returns the mark in a work's annotations.
func MarkOf(annotations map[string]string) Mark {
	switch {
	case annotations[contract.OnWithdrawAnnotation] == "":
		return NoMark
	case annotations[contract.OnWithdrawByAnnotation] == string(BySet):
		return BySet
	}
	return ByApplication
}

// Orphans reports whether the delivered objects stay on the cluster.
func (m Mark) Orphans() bool { return m != NoMark }
