// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package request carries the one-time requests of a hub Application, an operation and a refresh,
// to its managed cluster. It is pure: [PlanFor] decides the next step from the stored objects.
package request
