// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

const (
	// MaxReportBytes bounds the file of one report. A larger file is neither written nor read.
	MaxReportBytes = 8 << 20
	// MaxDirectoryBytes bounds all files together. A file that is being written counts in addition
	// to the file that it replaces. The bound is below the size of the directory's volume in the
	// manifests, because Kubernetes evicts a pod if its volume overflows.
	MaxDirectoryBytes = 52 << 20
)
