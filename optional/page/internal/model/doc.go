// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is the fleet as the page shows it: the hub's Applications, counted, grouped,
// filtered and sorted.
package model
