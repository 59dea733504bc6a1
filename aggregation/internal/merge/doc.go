// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package merge computes the content of the report of one ApplicationSet from the states of its
// Applications. The content has rows, resources and a summary, within a limit of bytes. It is pure:
// the same states give the same bytes, in whatever order they arrive.
package merge
