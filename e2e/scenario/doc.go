// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario runs the main use of the product, step by step, on a fleet of real components. It delivers
// an ApplicationSet by pull, shows and fixes a commit that cannot sync, moves an Application, and removes
// everything. The demo shows the steps, and the end-to-end tests run them as a test.
package scenario
