// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agentpair runs argocd-agent's real principal and agents on a fleet of real parts:
// gitopscluster with its shipped roles brings the agents, and each runs with exactly what the
// delivered Deployment gives it. It prints what it checks and measures, and ends with an
// error at the first thing that is not so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

func main() {
	binary := flag.String("binary", "", "path of an argocd-agent in its source, see docs/gitopscluster.md")
	rest := flag.Duration("rest", time.Minute, "how long writes are counted while nothing happens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(env.WithParent(ctx), *binary, *rest); err != nil {
		fmt.Fprintf(os.Stderr, "\nagentpair: %v\n", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context, binary string, rest time.Duration) (err error) {
	if binary == "" {
		return errors.New("-binary is empty: say where argocd-agent is, as ARGOCD_AGENT=… make agent")
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return err
	}
	if err := env.Build(ctx); err != nil {
		return err
	}
	audit, err := os.MkdirTemp("", "agentpair-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(audit)
	if err := os.WriteFile(filepath.Join(audit, "policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	fleet, err := env.Start(ctx, env.Options{
		Product: []string{env.Propagation}, Agents: true, Progress: func(line string) { fmt.Println(line) },
		Arguments: map[string][]string{env.GitOpsCluster: {"--binding-grace=1s"}, env.Propagation: {"--binding-grace=1s"}},
		APIServer: []string{"--audit-policy-file=" + filepath.Join(audit, "policy.yaml"), "--audit-log-path=" + filepath.Join(audit, "log")},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			logs, _ := fleet.KeepLogs() // else there are none to look at
			err = fmt.Errorf("%w\nlogs: %s", err, logs)
		}
		err = errors.Join(err, fleet.Stop())
	}()
	p := &pair{fleet: fleet, hub: fleet.Hub.Client, binary: binary, audit: filepath.Join(audit, "log"), agents: map[string]*node{}}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	return p.check(ctx, rest)
}

// check runs every step. Each builds on those before it.
func (p *pair) check(ctx context.Context, rest time.Duration) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"registration: from apply to every agent connected", p.register},
		{"managed: an Application of Argo CD's namespace", p.managed},
		{"managed: an Application of another namespace, whose namespace is made", p.otherNamespace},
		{"resource and Redis proxy: what is read and changed, and by whom", p.resourceProxy},
		{"wrong certificates: none is let in", p.impostors},
		{"at rest: writes of gitopscluster", func(ctx context.Context) (string, error) { return p.atRest(ctx, rest) }},
		{"rotation: certificates of another generation", p.generation},
		{"rotation: a new CA, under requests through the resource proxy", p.newCA},
		{"an agent that hangs", p.hangs},
		{"autonomous: shown on the hub, synced from the hub", p.autonomous},
		{"leaving: one cluster, then both GitOpsClusters", p.leave},
	} {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		measured, err := step.do(ctx)
		cancel()
		if err == nil {
			err = p.fleet.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%s ok   %-74s %5.1fs  %s\n", time.Now().Format(time.TimeOnly), step.name, time.Since(began).Seconds(), measured)
	}
	return nil
}

// prepare makes what is there before, and starts what plays the kubelets of the principal and
// of the agents.
func (p *pair) prepare(ctx context.Context) error {
	for _, c := range p.fleet.Managed {
		if err := c.ApplyFiles(ctx, scenario.Examples("managed"), file("e2e/gitopscluster/testdata/klusterlet.yaml")); err != nil {
			return err
		}
		health, err := p.fleet.FreePort()
		if err != nil {
			return err
		}
		metrics, err := p.fleet.FreePort()
		if err != nil {
			return err
		}
		n := &node{fleet: p.fleet, cluster: c, binary: p.binary, variables: map[string]string{
			"REDIS_ADDR": c.Redis, "ARGOCD_AGENT_HEALTH_CHECK_PORT": strconv.Itoa(health), "ARGOCD_AGENT_METRICS_PORT": strconv.Itoa(metrics),
		}}
		p.agents[c.Name] = n
		if err := label(ctx, p.hub, c, "managed"); err != nil {
			return err
		}
		p.play(n.playAgents) //nolint:contextcheck // it plays until the fleet ends
	}
	if err := p.fleet.Hub.ApplyFiles(ctx, file("e2e/agentpair/testdata/hub.yaml")); err != nil {
		return err
	}
	n := &node{fleet: p.fleet, cluster: p.fleet.Hub, binary: p.binary, variables: map[string]string{"LISTENS": fmt.Sprintf("127.0.0.1:%d", principalPort)}}
	p.play(n.playPrincipal) //nolint:contextcheck // it plays until the fleet ends
	return nil
}
