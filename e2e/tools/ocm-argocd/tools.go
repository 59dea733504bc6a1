// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// This file pins the newest Argo CD beside the newest Open Cluster Management of main.go. They share a module, and so one
// generation of the Kubernetes libraries, which is compiled once.
package main

import (
	_ "github.com/argoproj/argo-cd/v3/cmd"
)
