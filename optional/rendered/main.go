// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rendered is the controller of rendered mode: it marks ManifestWorks whose
// cluster is not available. Command plugin, in the folder beside, makes them.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
