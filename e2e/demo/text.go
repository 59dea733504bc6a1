// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// measured returns how long every stage took, by cluster.
func measured(latencies []scenario.Latency) string {
	var b strings.Builder
	for _, j := range latencies {
		if len(j.Stages) == 0 {
			continue
		}
		clusters := slices.Sorted(maps.Keys(j.Stages[0].Took))
		fmt.Fprintf(&b, "\nLatency %s:\n  %-54s", j.Title, "")
		for _, c := range clusters {
			fmt.Fprintf(&b, "%12s", c)
		}
		total := map[string]time.Duration{}
		for _, stage := range j.Stages {
			fmt.Fprintf(&b, "\n  %-54s", stage.Name)
			for _, c := range clusters {
				fmt.Fprintf(&b, "%12s", stage.Took[c].Round(time.Millisecond))
				total[c] += stage.Took[c]
			}
		}
		fmt.Fprintf(&b, "\n  %-54s", "in all")
		for _, c := range clusters {
			fmt.Fprintf(&b, "%12s", total[c].Round(time.Millisecond))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// invitation returns the commands to explore a fleet that stays up.
func invitation(fleet *env.Fleet) string {
	var b strings.Builder
	b.WriteString("\nThe fleet stays up until Ctrl-C. Try, from the repository's root:\n\n")
	fmt.Fprintf(&b, "  export HUB=%s\n", fleet.Hub.Kubeconfig)
	for _, c := range fleet.Managed {
		fmt.Fprintf(&b, "  export %s=%s\n", strings.ToUpper(c.Name), c.Kubeconfig)
	}
	example, delivered := "deploy/examples/guestbook-app-set.yaml", "applications,deployments"
	if fleet.Rendered() {
		example, delivered = "deploy/rendered/app-set.yaml", "deployments,appliedmanifestworks"
	}
	fmt.Fprintf(&b, `
  bin/kubectl --kubeconfig $HUB apply -f %s
  bin/kubectl --kubeconfig $HUB get applications,manifestworks,appsetreports -A
  bin/kubectl --kubeconfig $HUB get managedclusters
`, example)
	if len(fleet.Managed) > 0 {
		fmt.Fprintf(&b, "  bin/kubectl --kubeconfig $%s get %s -A\n", strings.ToUpper(fleet.Managed[0].Name), delivered)
	}
	return b.String()
}
