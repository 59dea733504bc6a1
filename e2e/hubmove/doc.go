// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hubmove holds the test of a fleet that moves to another hub, as docs/move-a-hub.md
// has it. It has a fleet of its own, of which the first hub is left behind.
package hubmove
