// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Program ocm contains the agents of the oldest supported Open Cluster Management in one binary that is
// linked once. Its first two arguments select one: "registration agent" or "work agent".
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	"open-cluster-management.io/ocm/pkg/cmd/spoke"
)

// parts create the commands. Only the selected one is created, because its creation registers feature gates.
var parts = map[string]func() *cobra.Command{
	"registration agent": spoke.NewRegistrationAgent,
	"work agent":         spoke.NewWorkAgent,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("%s: want a part and its role, for example \"work agent\"", os.Args[0])
	}
	name := strings.Join(args[:2], " ")
	part, known := parts[name]
	if !known {
		return fmt.Errorf("no part is called %q", name)
	}
	pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	logs.AddFlags(pflag.CommandLine)
	logs.InitLogs()
	defer logs.FlushLogs()
	command := part()
	command.SetArgs(args[2:])
	return command.Execute()
}
