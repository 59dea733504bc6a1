// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract has all names that binaries exchange: label and annotation keys, names of
// objects, and the feedback values of a ManifestWork. Each key is defined only here, so that two
// binaries cannot use different keys.
package contract
