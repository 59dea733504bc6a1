// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// measured returns a table with the duration of every stage, by cluster.
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

// invitation returns the commands to explore a running fleet.
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
  bin/kubectl --kubeconfig $HUB create token %s -n %s --duration 1h      # another token for the page
`, example, env.PageAccount, env.ProductNamespace)
	if len(fleet.Managed) > 0 {
		fmt.Fprintf(&b, "  bin/kubectl --kubeconfig $%s get %s -A\n", strings.ToUpper(fleet.Managed[0].Name), delivered)
	}
	return b.String()
}

// tokenLife is the lifetime of a token for the page.
const tokenLife = time.Hour

// page returns the address of the fleet's page, and how to log in.
func page(ctx context.Context, fleet *env.Fleet) (_ string, err error) {
	defer must.Return(&err)
	address := must.Get(fleet.Product.Page(0))
	token := must.Get(fleet.Product.PageToken(ctx, env.PageAccount, tokenLife))
	u := must.Get(url.Parse(address))
	return fmt.Sprintf(`
The page of the fleet, live while the fleet is up:

  1. open    %s/
  2. log in  with this token of ServiceAccount %s, good for an hour:

%s

  From another machine, before that: ssh -L %s:%s THIS-MACHINE
`, address, env.PageAccount, token, u.Port(), u.Host), nil
}
