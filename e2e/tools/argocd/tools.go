// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package argocd pins Argo CD.
package argocd

import (
	_ "github.com/argoproj/argo-cd/v2/cmd"
)
