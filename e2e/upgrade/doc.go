// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade upgrades the product from the release before to this checkout and back, container
// by container, on a fleet of real parts during a RollingSync.
package upgrade
