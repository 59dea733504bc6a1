// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops reconciles GitOpsClusters. It reads which clusters their Placements select. Package register keeps a
// cluster Secret for each. The status reports the progress.
//
// A restart loses nothing, because the Secrets name the GitOpsClusters that hold them. A cluster is removed only if
// successful reads have shown for the grace period that it is not selected. The number of such clusters also has to
// be within the limit. Nothing is done while the CustomResourceDefinition belongs to another project (see [Gate]).
package gitops
