// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command placement refreshes ApplicationSets after a change of the placement decisions that their
// generators select.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
