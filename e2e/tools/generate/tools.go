// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package generate pins the generator of deepcopy methods, CRDs and roles.
package generate

import (
	_ "sigs.k8s.io/controller-tools/cmd/controller-gen"
)
