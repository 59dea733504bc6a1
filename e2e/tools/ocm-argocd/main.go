// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Program ocm contains the components of Open Cluster Management that the fleet runs, in one binary that is
// linked once. Its first two arguments select one: "registration controller", "registration agent",
// "placement controller", "addon manager" or "work agent".
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
	"open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/cmd/hub"
	"open-cluster-management.io/ocm/pkg/cmd/spoke"
	"open-cluster-management.io/ocm/pkg/features"
)

// parts create the commands. Only the selected one is created, because its creation registers feature gates.
var parts = map[string]func() (*cobra.Command, error){
	"registration controller": registrationController,
	"registration agent":      command(spoke.NewRegistrationAgent),
	"placement controller":    command(hub.NewPlacementController),
	"addon manager":           command(hub.NewAddonManager),
	"work agent":              command(spoke.NewWorkAgent),
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
	made, err := part()
	if err != nil {
		return err
	}
	made.SetArgs(args[2:])
	return made.Execute()
}

func command(constructor func() *cobra.Command) func() (*cobra.Command, error) {
	return func() (*cobra.Command, error) { return constructor(), nil }
}

// registrationController returns its command with the feature gates as global flags, which the constructor
// does not add.
func registrationController() (*cobra.Command, error) {
	if err := features.HubMutableFeatureGate.Add(feature.DefaultHubRegistrationFeatureGates); err != nil {
		return nil, fmt.Errorf("add the feature gates of registration: %w", err)
	}
	features.HubMutableFeatureGate.AddFlag(pflag.CommandLine)
	return hub.NewRegistrationController(), nil
}
