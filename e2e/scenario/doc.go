// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario runs the main use of the product, step by step, on a fleet of real parts: an
// ApplicationSet is delivered by pull, a commit that cannot sync is reported and fixed, an
// Application moves, and everything is removed. The demo shows the steps, and the end-to-end tests
// assert them.
package scenario
