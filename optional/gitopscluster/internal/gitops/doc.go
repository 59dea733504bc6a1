// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops reconciles GitOpsClusters: it reads which clusters their Placements
// select, has package register keep a cluster Secret for each, and reports in the
// status how far that is.
//
// Nothing is remembered that a restart would lose: the Secrets say which GitOpsClusters
// hold them. A cluster leaves only when its absence was positively read, has lasted, and
// is not one of too many at a time. Nothing at all is done while the
// CustomResourceDefinition is another project's (see [Gate]).
package gitops
