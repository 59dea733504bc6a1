// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy decides whether a hub Application may be delivered to its managed
// cluster and says why not. It is pure: [Decide] takes everything that a decision
// rests on as [Inputs] and returns a [Decision].
package policy
