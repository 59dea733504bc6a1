// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agentpair runs argocd-agent's real principal and agents on a fleet of real components.
// gitopscluster with its shipped roles installs the agents. With -bring-argocd, Open Cluster Management's
// add-on manager installs Argo CD on the clusters. Each component runs exactly as it was delivered. The
// command prints its checks and measurements, and stops with an error at the first failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

func main() {
	binary := flag.String("binary", "", "path of an argocd-agent in its source, see docs/benchmarks.md")
	rest := flag.Duration("rest", time.Minute, "how long writes are counted while nothing happens")
	bring := flag.Bool("bring-argocd", false, "start with clusters without Argo CD, and install it by deploy/examples/argocd-on-clusters")
	flag.Parse()
	env.Main("agentpair", func(ctx context.Context) error { return run(ctx, *binary, *rest, *bring) })
}

func run(ctx context.Context, binary string, rest time.Duration, bring bool) error {
	if err := env.NeedBinary(binary, manifests(binary)); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "agentpair-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	p := &pair{binary: binary, audit: filepath.Join(folder, "audit.log"), bring: bring, agents: map[string]*node{}}
	return env.Use(ctx, env.Options{
		Product: []string{env.Propagation}, Agents: true, NoArgoCD: bring, AddOnManager: bring, Progress: say,
		Arguments: map[string][]string{env.GitOpsCluster: {"--binding-grace=1s"}, env.Propagation: {"--binding-grace=1s"}},
		APIServer: []string{"--audit-policy-file=" + file("audit.yaml"), "--audit-log-path=" + p.audit},
	}, func(ctx context.Context, fleet *env.Fleet) error {
		p.fleet, p.hub = fleet, fleet.Hub.Client
		if err := must.Try(func() { p.prepare(ctx) }); err != nil {
			return err
		}
		return scenario.Run(ctx, p.steps(rest), say)
	})
}

func say(line string) { fmt.Println(line) }

// steps returns the steps in their order. Each step depends on the steps before it and returns its
// measurements.
func (p *pair) steps(rest time.Duration) (steps []scenario.Step) {
	add := func(title string, do func(context.Context) string) {
		steps = append(steps, scenario.Step{Title: title, Run: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
			defer cancel()
			began := time.Now()
			return errors.Join(must.Try(func() {
				measured := do(ctx)
				say(fmt.Sprintf("%s ok, %.1f s  %s", time.Now().Format(time.TimeOnly), time.Since(began).Seconds(), measured))
			}), p.fleet.Processes.Err())
		}})
	}
	add("registration: from apply to every agent connected", p.register)
	add("managed: an Application of Argo CD's namespace", p.managed)
	add("managed: an Application of another namespace, whose namespace is made", p.otherNamespace)
	add("resource and Redis proxy: what is read and changed, and by whom", p.resourceProxy)
	add("wrong certificates: none is let in", p.impostors)
	add("at rest: writes of gitopscluster", func(ctx context.Context) string { return p.atRest(ctx, rest) })
	add("rotation: certificates of another generation", p.generation)
	add("rotation: a new CA, under requests through the resource proxy", p.newCA)
	add("an agent that hangs", p.hangs)
	add("autonomous: shown on the hub, synced from the hub", p.autonomous)
	add("leaving: one cluster, then both GitOpsClusters", p.leave)
	return steps
}

// prepare creates the prerequisites and starts the kubelets that run the principal and the agents.
func (p *pair) prepare(ctx context.Context) {
	for _, c := range p.fleet.Managed {
		must.OK(c.ApplyFiles(ctx, file("cluster.yaml")))
		if p.bring {
			must.OK(c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workload}}))
		} else {
			must.OK(scenario.PrepareCluster(ctx, c))
		}
		n := &node{fleet: p.fleet, cluster: c, binary: p.binary, health: fmt.Sprint(must.Get(p.fleet.Processes.FreePort()))}
		n.variables = map[string]string{
			"REDIS_ADDR": c.Redis, "ARGOCD_AGENT_HEALTH_CHECK_PORT": n.health, "ARGOCD_AGENT_METRICS_PORT": fmt.Sprint(must.Get(p.fleet.Processes.FreePort())),
		}
		p.agents[c.Name] = n
		p.label(ctx, c, managed)
		go n.play(p.fleet.Processes.Context(), n.agent) //nolint:contextcheck // it plays until the fleet ends
	}
	must.OK(p.fleet.Hub.ApplyFiles(ctx, file("hub.yaml")))
	if p.bring {
		must.OK(scenario.OfferArgoCD(ctx, p.fleet.Hub, time.Second))
	}
	n := &node{fleet: p.fleet, cluster: p.fleet.Hub, binary: p.binary}
	go n.play(p.fleet.Processes.Context(), n.principal) //nolint:contextcheck // it plays until the fleet ends
}
