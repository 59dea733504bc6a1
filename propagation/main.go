// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command propagation delivers Applications to managed clusters, and mirrors their status.
package main

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() {
	boot.Main(command.Program(), command.New())
}
