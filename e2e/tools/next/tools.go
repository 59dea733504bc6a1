// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package next pins an Argo CD that is newer than the newest Argo CD that is built here. Only its
// CustomResourceDefinitions and manifests are used.
package next

import (
	_ "github.com/argoproj/argo-cd/v3/pkg/apis/application"
)
