// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent asks the real work agent's feedback reader what it makes of the
// paths that a ManifestWork asks for. It has only tests.
package agent
