// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package merge turns what is known about the Applications of one ApplicationSet
// into the content of its report: rows, resources, summary, all within a budget
// of bytes. It is pure: the same knowledge gives the same bytes, in any order of
// arrival.
package merge
