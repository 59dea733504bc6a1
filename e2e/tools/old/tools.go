// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// This file pins the oldest supported Argo CD beside the oldest supported agents of Open Cluster Management in main.go.
package main

import (
	_ "github.com/argoproj/argo-cd/v2/cmd"
)
