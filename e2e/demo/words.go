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
	"open-cluster-management.io/multicluster-integrations/e2e/story"
)

// measured returns how long every hop took, by cluster.
func measured(journeys []story.Journey) string {
	var b strings.Builder
	for _, j := range journeys {
		if len(j.Hops) == 0 {
			continue
		}
		clusters := slices.Sorted(maps.Keys(j.Hops[0].Took))
		fmt.Fprintf(&b, "\nLatency %s:\n  %-54s", j.Title, "")
		for _, c := range clusters {
			fmt.Fprintf(&b, "%12s", c)
		}
		total := map[string]time.Duration{}
		for _, hop := range j.Hops {
			fmt.Fprintf(&b, "\n  %-54s", hop.Name)
			for _, c := range clusters {
				fmt.Fprintf(&b, "%12s", hop.Took[c].Round(time.Millisecond))
				total[c] += hop.Took[c]
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

// invitation tells how to look around in a fleet that stays.
func invitation(fleet *env.Fleet) string {
	var b strings.Builder
	b.WriteString("\nThe fleet stays up until Ctrl-C. Try, from the repository's root:\n\n")
	fmt.Fprintf(&b, "  export HUB=%s\n", fleet.Hub.Kubeconfig)
	for _, c := range fleet.Managed {
		fmt.Fprintf(&b, "  export %s=%s\n", strings.ToUpper(c.Name), c.Kubeconfig)
	}
	b.WriteString(`
  bin/kubectl --kubeconfig $HUB apply -f deploy/examples/guestbook-app-set.yaml
  bin/kubectl --kubeconfig $HUB get applications,manifestworks,appsetreports -A
  bin/kubectl --kubeconfig $HUB get managedclusters
`)
	if len(fleet.Managed) > 0 {
		fmt.Fprintf(&b, "  bin/kubectl --kubeconfig $%s get applications,deployments -A\n", strings.ToUpper(fleet.Managed[0].Name))
	}
	return b.String()
}
