// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quickstart runs the commands of docs/quickstart.md on a fleet of real components.
package quickstart
