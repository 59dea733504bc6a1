// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore holds the test of a hub that is lost and restored, as docs/restore.md has it. It has a
// fleet of its own, with every option that needs no images.
package restore
