// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command placement refreshes the ApplicationSets whose generators select placement
// decisions that have changed.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
