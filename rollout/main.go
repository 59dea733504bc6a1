// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rollout is the controller of ApplicationSetRollouts: it decides which clusters
// may have a change of an ApplicationSet. Propagation delivers it.
package main

import (
	"open-cluster-management.io/multicluster-integrations/rollout/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
