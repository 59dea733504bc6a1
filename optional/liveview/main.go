// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command liveview is the viewer on the hub: Argo CD's own page shows the resources of pulled
// Applications. Command observer, in its folder, is the part on a managed cluster.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.Program(), command.New()) }
