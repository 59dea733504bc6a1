// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent tests the paths of a ManifestWork with the real work agent's feedback reader. It
// has only tests.
package agent
