// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hubmove tests the move of a fleet to another hub as in docs/move-a-hub.md. It needs a separate
// fleet, because the first hub does not work afterwards.
package hubmove
