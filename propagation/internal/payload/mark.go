// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import "open-cluster-management.io/multicluster-integrations/shared/contract"

// Mark says on a ManifestWork that what it delivers stays, and who said so.
type Mark string

// Marks.
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

// Orphans reports whether what is delivered stays.
func (m Mark) Orphans() bool { return m != NoMark }
