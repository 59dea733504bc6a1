// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is the fleet for the page: the hub's Applications, counted, grouped, filtered and
// sorted.
package model
