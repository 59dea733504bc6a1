// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command observer is the observer: on a managed cluster it answers the hub's questions for
// the resources of Applications.
package main

import (
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() { boot.Main(command.ObserverProgram(), command.NewObserver()) }
