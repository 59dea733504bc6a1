// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"cmp"
	"context"
	"crypto/tls"
	"strconv"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// argocdName returns the variable that selects a component of Argo CD's single binary.
func argocdName(name string) string { return "ARGOCD_BINARY_NAME=argocd-" + name }

// These are the intervals at which Argo CD checks for new commits, unless [Options.DefaultPoll] keeps its
// default of three minutes. The fleet has no webhook.
const (
	resyncSeconds      = 4
	revisionExpiration = "2s"
	// repoErrorSeconds is how long the hub's Argo CD delays the error of a source that it cannot render. The
	// tests of rendered mode wait for errors of the plugin.
	repoErrorSeconds = "1"
)

// startRepoServer starts the repository server of a generation. It is stateless and needs no cluster.
func (f *Fleet) startRepoServer(ctx context.Context, g generation, server *repoServer) (err error) {
	defer must.Return(&err)
	binary := must.Get(g.part("argocd"))
	ports := must.Get(f.Processes.takePorts(2))
	server.address = local(ports[0])
	args := []string{
		binary, "--address", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--metrics-address", "127.0.0.1", "--metrics-port", strconv.Itoa(ports[1]),
		"--redis", server.redis,
	}
	if !f.Processes.options.DefaultPoll {
		args = append(args, "--revision-cache-expiration", revisionExpiration)
	}
	p := must.Get(f.Processes.run(ctx, command{
		name: "repo-server" + string(g),
		env: []string{
			argocdName("repo-server"), "ARGOCD_GPG_ENABLED=false", "ARGOCD_TLS_DATA_PATH=" + f.Processes.path("git-tls"),
			"HTTPS_PROXY=" + f.GitProxy, "GIT_CONFIG_NOSYSTEM=1", "ARGOCD_PLUGINSOCKFILEPATH=" + f.Processes.plugins(),
		},
		args: args,
	}))
	close(server.started)
	return p.awaitHTTP(ctx, "http://"+local(ports[1])+"/healthz?full=true")
}

// serveRepository serves the repository under the address in the examples. The repository servers that start
// later use it.
func (f *Fleet) serveRepository(ctx context.Context) (err error) {
	defer must.Return(&err)
	for i, g := range f.Processes.options.generations() {
		f.repoServers[g] = &repoServer{redis: f.redis[len(f.Managed)+i], started: make(chan struct{})}
	}
	authority := must.Get(newAuthority("git"))
	signed := must.Get(authority.server(gitHost))
	certificate := must.Get(tls.X509KeyPair(signed.certificate, signed.key))
	must.OK(writeFiles(f.Processes.path("git-tls"), map[string][]byte{gitHost: authority.pem()}))
	repositories := must.Get(gitServer(ctx, f.Processes.path("git")))
	port := must.Get(f.Processes.FreePort())
	f.GitProxy = "http://" + local(port)
	return startGitFront(f.Processes.ctx, port, certificate, repositories) //nolint:contextcheck // it is served until the fleet ends
}

// component is a component of Argo CD that uses an API server with the permissions of its ServiceAccount.
type component struct {
	name string // name of the process
	role string // role of the binary, which its name selects
	// identity is the path of a kubeconfig. If it is empty, the component uses its account in the Argo CD
	// namespace.
	identity string
	// binary is the path of another build. If it is empty, the cluster's Argo CD runs.
	binary  string
	install []string
	env     []string
	// repoFlag is the flag for the address of the repository server. The default is --repo-server.
	repoFlag string
	args     []string
	// health is the URL that answers when the component runs, or "".
	health string
}

func (f *Fleet) runArgoCD(ctx context.Context, c *Cluster, a component) (err error) {
	defer must.Return(&err)
	must.OK(c.applyInstall(ctx, a.install...))
	binary, err := c.parts.part("argocd")
	if a.binary != "" {
		binary, err = a.binary, nil
	}
	if err != nil {
		return err
	}
	if a.identity == "" {
		a.identity = must.Get(f.Processes.identity(ctx, c, ArgoCDNamespace, "argocd-"+a.role, fleetLife))
	}
	repoServer := must.Get(f.repoServers[c.parts].await(ctx))
	p, err := f.Processes.run(ctx, command{
		name: a.name, env: append([]string{argocdName(a.role), "KUBECONFIG=" + a.identity}, a.env...),
		args: append([]string{binary, "--kubeconfig", a.identity, "--namespace", ArgoCDNamespace, cmp.Or(a.repoFlag, "--repo-server"), repoServer}, a.args...),
	})
	if err != nil || a.health == "" {
		return err
	}
	return p.awaitHTTP(ctx, a.health)
}

// startApplications starts Argo CD's application controller of a cluster, with the permissions of an
// installation that manages only its own namespace.
func (f *Fleet) startApplications(ctx context.Context, c *Cluster) error {
	return c.runController(ctx, f, component{install: []string{"argocd.yaml", "argocd-managed.yaml"}})
}

// runController starts an application controller. a contains its prerequisites, its identity and further
// variables.
func (c *Cluster) runController(ctx context.Context, f *Fleet, a component) error {
	port, err := f.Processes.FreePort()
	if err != nil {
		return err
	}
	args := []string{
		"--redis", c.Redis, "--metrics-port", strconv.Itoa(port), "--status-processors", "2", "--operation-processors", "2",
	}
	if !f.Processes.options.DefaultPoll {
		args = append(args, "--app-resync", strconv.Itoa(resyncSeconds), "--app-resync-jitter", "0")
	}
	if c == f.Hub {
		args = append(args, "--repo-error-grace-period-seconds", repoErrorSeconds)
	}
	a.name, a.role, a.args, a.health = c.Name+"-argocd", "application-controller", args, "http://"+local(port)+"/healthz"
	// With this variable the cluster of the kubeconfig is https://kubernetes.default.svc.
	a.env = append([]string{"ARGOCD_FAKE_IN_CLUSTER=true", persistHealth(c == f.Hub)}, a.env...)
	return f.runArgoCD(ctx, c, a)
}

// persistHealth returns the variable that makes an application controller store the health of every resource
// in the Application's status, with its message. Argo CD 2.14 does that by default, and 3.x keeps the health
// in Redis. The tests of rendered mode read it on the hub.
func persistHealth(yes bool) string {
	return "ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH=" + strconv.FormatBool(yes)
}

// startApplicationSets starts Argo CD's ApplicationSet controller on the hub.
func (f *Fleet) startApplicationSets(ctx context.Context) error {
	ports, err := f.Processes.takePorts(3)
	if err != nil {
		return err
	}
	return f.runArgoCD(ctx, f.Hub, component{
		name: "hub-applicationsets", role: "applicationset-controller", install: []string{"argocd.yaml", "argocd-hub.yaml"},
		repoFlag: "--argocd-repo-server",
		args: []string{
			"--enable-progressive-syncs",
			"--metrics-addr", local(ports[0]), "--probe-addr", local(ports[1]), "--webhook-addr", local(ports[2]),
		},
		health: "http://" + local(ports[0]) + "/metrics", // its probe port has no /healthz
	})
}
