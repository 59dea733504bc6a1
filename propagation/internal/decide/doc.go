// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide says what becomes of a pulled Application and of each of its ManifestWorks.
// It is a function of facts: it reads no clock, no cache and no API server, and writes nothing.
package decide
