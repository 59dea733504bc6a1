// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide computes the decisions about a pulled Application and about each of its
// ManifestWorks. It is a pure function of facts: it reads no clock, cache or API server, and writes
// nothing.
package decide
