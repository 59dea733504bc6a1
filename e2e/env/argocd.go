// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"crypto/tls"
	"strconv"
)

// Argo CD is one binary that looks at the name it is called by.
func argocdName(name string) string { return "ARGOCD_BINARY_NAME=argocd-" + name }

// How soon Argo CD looks for new commits by itself, unless [Options.DefaultPoll] leaves
// it its own three minutes for each: no webhook tells it here.
const (
	resyncSeconds      = 4
	revisionExpiration = "2s"
	// repoErrorSeconds is how long the hub's says nothing about a source that it cannot
	// render; the tests of rendered mode wait for what the plugin refuses.
	repoErrorSeconds = "1"
)

// startRepoServer starts the repository server of a generation. It keeps no state
// and needs no cluster.
func (f *Fleet) startRepoServer(ctx context.Context, g generation, server *repoServer) error {
	binary, err := g.part("argocd")
	if err != nil {
		return err
	}
	ports, err := f.takePorts(2)
	if err != nil {
		return err
	}
	server.address = local(ports[0])
	args := []string{
		binary, "--address", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--metrics-address", "127.0.0.1", "--metrics-port", strconv.Itoa(ports[1]),
		"--disable-tls", "--redis", server.redis,
	}
	if !f.options.DefaultPoll {
		args = append(args, "--revision-cache-expiration", revisionExpiration)
	}
	p, err := f.run(ctx, command{
		name: "repo-server" + string(g),
		env: []string{
			argocdName("repo-server"), "ARGOCD_GPG_ENABLED=false", "ARGOCD_TLS_DATA_PATH=" + f.path("git-tls"),
			"HTTPS_PROXY=" + f.gitProxy, "GIT_CONFIG_NOSYSTEM=1", "ARGOCD_PLUGINSOCKFILEPATH=" + f.plugins(),
		},
		args: args,
	})
	if err != nil {
		return err
	}
	close(server.started)
	return p.awaitHTTP(ctx, "http://"+local(ports[1])+"/healthz?full=true")
}

// serveRepository serves the repository under the address that the examples name,
// for the repository servers that are to start.
func (f *Fleet) serveRepository(ctx context.Context) error {
	for i, g := range f.generations() {
		f.repoServers[g] = &repoServer{redis: f.redis[len(f.Managed)+i], started: make(chan struct{})}
	}
	authority, err := newAuthority("git")
	if err != nil {
		return err
	}
	signed, err := authority.server(gitHost)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(signed.certificate, signed.key)
	if err != nil {
		return err
	}
	if err := writeFiles(f.path("git-tls"), map[string][]byte{gitHost: authority.pem()}); err != nil {
		return err
	}
	repositories, err := gitServer(ctx, f.path("git"))
	if err != nil {
		return err
	}
	port, err := f.port()
	if err != nil {
		return err
	}
	f.gitProxy = "http://" + local(port)
	return startGitFront(f.ctx, port, certificate, repositories) //nolint:contextcheck // it is served until the fleet ends
}

// startApplications starts Argo CD's application controller of a managed cluster,
// with the rights of an installation that manages no namespace but its own.
func (f *Fleet) startApplications(ctx context.Context, c *Cluster, redis string) error {
	if err := c.applyInstall(ctx, "argocd.yaml", "argocd-managed.yaml"); err != nil {
		return err
	}
	return f.runApplications(ctx, c, redis)
}

// runApplications runs an application controller that is installed.
func (f *Fleet) runApplications(ctx context.Context, c *Cluster, redis string) error {
	identity, err := f.identity(ctx, c, ArgoCDNamespace, "argocd-application-controller", fleetLife)
	if err != nil {
		return err
	}
	return c.runController(ctx, f, identity, redis, nil)
}

// runController runs an application controller as an identity, with more of an environment.
func (c *Cluster) runController(ctx context.Context, f *Fleet, identity, redis string, environment []string) error {
	binary, err := c.parts.part("argocd")
	if err != nil {
		return err
	}
	port, err := f.port()
	if err != nil {
		return err
	}
	repoServer, err := f.repoServers[c.parts].await(ctx)
	if err != nil {
		return err
	}
	args := []string{
		binary, "--kubeconfig", identity, "--namespace", ArgoCDNamespace, "--repo-server", repoServer, "--repo-server-plaintext",
		"--redis", redis, "--metrics-port", strconv.Itoa(port), "--status-processors", "2", "--operation-processors", "2",
	}
	if !f.options.DefaultPoll {
		args = append(args, "--app-resync", strconv.Itoa(resyncSeconds), "--app-resync-jitter", "0")
	}
	if c == f.Hub {
		args = append(args, "--repo-error-grace-period-seconds", repoErrorSeconds)
	}
	p, err := f.run(ctx, command{
		name: c.Name + "-argocd",
		// it takes https://kubernetes.default.svc for the cluster of this kubeconfig
		env:  append([]string{argocdName("application-controller"), "KUBECONFIG=" + identity, "ARGOCD_FAKE_IN_CLUSTER=true", persistHealth(c == f.Hub)}, environment...),
		args: args,
	})
	if err != nil {
		return err
	}
	return p.awaitHTTP(ctx, "http://"+local(port)+"/healthz")
}

// persistHealth has an application controller store the health of every resource with
// its message in the Application's status, as 2.14 does: 3.x keeps it in Redis unless
// told otherwise. The tests of rendered mode read it on the hub.
func persistHealth(yes bool) string {
	return "ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH=" + strconv.FormatBool(yes)
}

// startApplicationSets starts Argo CD's ApplicationSet controller on the hub.
func (f *Fleet) startApplicationSets(ctx context.Context) error {
	binary, err := newest.part("argocd")
	if err != nil {
		return err
	}
	ports, err := f.takePorts(3)
	if err != nil {
		return err
	}
	if err := f.Hub.applyInstall(ctx, "argocd.yaml", "argocd-hub.yaml"); err != nil {
		return err
	}
	identity, err := f.identity(ctx, f.Hub, ArgoCDNamespace, "argocd-applicationset-controller", fleetLife)
	if err != nil {
		return err
	}
	repoServer, err := f.repoServers[newest].await(ctx)
	if err != nil {
		return err
	}
	p, err := f.run(ctx, command{
		name: "hub-applicationsets",
		env:  []string{argocdName("applicationset-controller"), "KUBECONFIG=" + identity},
		args: []string{
			binary, "--kubeconfig", identity, "--namespace", ArgoCDNamespace, "--metrics-addr", local(ports[0]), "--probe-addr", local(ports[1]),
			"--webhook-addr", local(ports[2]), "--argocd-repo-server", repoServer, "--repo-server-plaintext", "--enable-progressive-syncs",
		},
	})
	if err != nil {
		return err
	}
	return p.awaitHTTP(ctx, "http://"+local(ports[0])+"/metrics") // its probe port knows no /healthz
}
