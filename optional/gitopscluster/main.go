// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command gitopscluster registers the clusters of GitOpsClusters with Argo CD and delivers
// argocd-agent to them. With "plan" it prints the writes that it would make for the GitOpsClusters
// in a file.
package main

import (
	"context"
	"os"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/command"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "plan" {
		os.Exit(command.Plan(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	boot.Main(command.Program(), command.New())
}
