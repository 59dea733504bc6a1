// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore tests that a lost hub is restored as in docs/restore.md. It has a separate fleet, with
// every option that needs no images.
package restore
