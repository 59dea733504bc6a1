// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Build builds the product's binaries into bin/product with `make build`. It does nothing if make runs this
// program, because make has built them. Parallel builds wait for each other.
func Build(ctx context.Context) (err error) {
	defer must.Return(&err)
	if os.Getenv("MAKELEVEL") != "" {
		return nil
	}
	target := filepath.Join(testkit.Root(), "bin", "product")
	must.OK(os.MkdirAll(target, 0o755))
	lock := must.Get(os.Create(filepath.Join(target, ".lock")))
	defer lock.Close() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", target, err)
	}
	if out, err := exec.CommandContext(ctx, "make", "-C", testkit.Root(), "build").CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// Product is the product on a hub.
type Product struct {
	processes *Processes
	hub       *Cluster
	search    *search.Server // nil without search
}

// startProduct gives each binary its identity and starts its replicas.
func (pr *Product) startProduct(ctx context.Context) error {
	stages := make([]stage, 0, len(pr.processes.options.Product))
	for _, name := range pr.processes.options.Product {
		stages = append(stages, func(ctx context.Context) error {
			identity, err := pr.processes.identity(ctx, pr.hub, ProductNamespace, Account(name), shortLife)
			if err != nil {
				return fmt.Errorf("give %s its identity: %w", name, err)
			}
			for replica := range pr.processes.options.Replicas {
				if err := pr.startReplica(ctx, name, pr.processes.options.Sources, identity, replica); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := parallel(ctx, stages...); err != nil {
		return err
	}
	if len(pr.processes.options.Product) > 0 {
		pr.processes.progress("hub: %s ready", strings.Join(pr.processes.options.Product, ", "))
	}
	return nil
}

// startReplica starts one replica of a binary of the checkout at sources. Replicas with the same number share
// a pod's folder.
func (pr *Product) startReplica(ctx context.Context, name, sources, kubeconfig string, replica int, more ...string) (err error) {
	defer must.Return(&err)
	ports := must.Get(pr.processes.takePorts(2))
	binary := filepath.Join(sources, "bin", "product", name)
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%s is not built: %w", name, err)
	}
	intermediate := pr.IntermediateDir(replica)
	must.OK(os.MkdirAll(intermediate, 0o700))
	args := []string{
		binary, "--kubeconfig=" + kubeconfig,
		"--metrics-bind-address=" + local(ports[0]), "--health-probe-bind-address=" + local(ports[1]),
	}
	own := must.Get(pr.arguments(name, intermediate))
	args = append(append(append(args, own...), pr.processes.options.Arguments[name]...), more...)
	p := must.Get(pr.processes.run(ctx, command{name: fmt.Sprintf("%s-%d", name, replica), args: args}))
	p.health = "http://" + local(ports[1]) + "/readyz"
	return p.AwaitReady(ctx)
}

// leases returns the arguments of leader election. A leader survives a minute in which the API server of a
// busy machine does not answer. A leader that stops releases its Lease at once.
func leases() []string {
	return []string{"--leader-elect", "--leader-election-namespace=" + ProductNamespace, "--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=50s"}
}

// arguments returns the arguments of a binary for the fleet's options.
func (pr *Product) arguments(name, intermediate string) ([]string, error) {
	var args []string
	if name != ResourceSync {
		args = append(args, leases()...)
	}
	switch name {
	case Propagation:
		if pr.processes.options.GitOpsClusters {
			args = append(args, "--register=false")
		}
	case ResourceSync:
		args = append(append(args, "--intermediate-dir="+intermediate), pr.searchArguments(tokenFile(pr.hub, Account(name)))...)
	case Aggregation:
		args = append(args, "--intermediate-dir="+intermediate)
		if pr.processes.options.Rendered {
			args = append(args, "--rendered")
		}
	case Page:
		return pr.pageArguments()
	case GitOpsCluster:
		args = append(args, "--register=gitopsclusters", fmt.Sprintf("--agents=%t", pr.processes.options.Agents))
	}
	return args, nil
}

// IntermediateDir returns the folder that resourcesync and aggregation of one replica share.
func (pr *Product) IntermediateDir(replica int) string {
	return pr.processes.path("intermediate", fmt.Sprint(replica))
}

// searchArguments returns resourcesync's arguments for search, if search exists.
func (pr *Product) searchArguments(token string) []string {
	if pr.search == nil {
		return nil
	}
	return []string{"--search-url=" + pr.search.URL(), "--search-ca-file=" + pr.search.CAFile(), "--search-token-file=" + token, "--search-interval=2s"}
}

// pageArguments returns the arguments of the page. It listens on loopback and without TLS, so that a browser
// shows no warning about a certificate.
func (pr *Product) pageArguments() ([]string, error) {
	port, err := pr.processes.FreePort()
	if err != nil {
		return nil, err
	}
	return []string{"--page-bind-address=" + local(port), "--page-secure=false", "--lease-namespace=" + ProductNamespace}, nil
}
