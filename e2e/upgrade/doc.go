// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade upgrades the product from the previous release to this checkout and back, container by
// container. It runs on a fleet of real components during a RollingSync.
package upgrade
