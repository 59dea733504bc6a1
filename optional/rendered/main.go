// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rendered is the controller of rendered mode. It marks ManifestWorks of unavailable
// clusters. Command plugin, in its folder, creates them.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
