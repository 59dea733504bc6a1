// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

const (
	// MaxReportBytes bounds the file of one report: a larger one is neither written nor read.
	MaxReportBytes = 8 << 20
	// MaxDirectoryBytes bounds all files together, one that is being written beside
	// the one that it replaces included. It is below the size of the volume that the
	// manifests give the directory: a pod whose volume overflows is evicted.
	MaxDirectoryBytes = 52 << 20
)
