// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kwok pins the kwok binary of the fleet.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
