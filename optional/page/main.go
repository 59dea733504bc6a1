// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command page serves the page of the fleet: all pulled Applications of a hub in a browser, errors
// first.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
