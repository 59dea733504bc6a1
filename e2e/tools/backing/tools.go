// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

package main

import (
	_ "go.etcd.io/etcd/server/v3"
)
