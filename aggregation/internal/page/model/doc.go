// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is the fleet as the page shows it: the rows of the reports, counted,
// grouped, filtered and sorted. It holds no row of its own, only pointers to those of
// the index, and even these only while a viewer is connected.
package model
