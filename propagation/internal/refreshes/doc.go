// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refreshes is what delivery and the mirror of one process both know of refreshes
// that hub Applications ask for: which of them were sent, and who takes one off.
package refreshes
