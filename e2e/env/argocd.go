// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"strconv"
)

// Argo CD is one binary that looks at the name it is called by.
func argocdName(name string) string { return "ARGOCD_BINARY_NAME=argocd-" + name }

// How soon Argo CD looks for new commits by itself: its own defaults are three
// minutes each, and no webhook tells it here.
const (
	resyncSeconds      = 4
	revisionExpiration = "2s"
)

// startRepoServer starts the repository server that every managed cluster uses. It
// keeps no state and needs no cluster.
func (f *Fleet) startRepoServer(ctx context.Context) error {
	binary, err := part("argocd")
	if err != nil {
		return err
	}
	ports, err := f.takePorts(3)
	if err != nil {
		return err
	}
	proxy, err := f.openRepository(ports[0])
	if err != nil {
		return fmt.Errorf("serve %s: %w", RepositoryURL, err)
	}
	f.repoServer = local(ports[1])
	p, err := f.run(ctx, command{
		name: "repo-server",
		env: []string{
			argocdName("repo-server"), "ARGOCD_GPG_ENABLED=false", "ARGOCD_TLS_DATA_PATH=" + f.path("git-tls"),
			"HTTPS_PROXY=" + proxy, "GIT_CONFIG_NOSYSTEM=1", "ARGOCD_PLUGINSOCKFILEPATH=" + f.plugins(),
		},
		args: []string{
			binary, "--address", "127.0.0.1", "--port", strconv.Itoa(ports[1]), "--metrics-address", "127.0.0.1", "--metrics-port", strconv.Itoa(ports[2]),
			"--disable-tls", "--redis", f.backing.redis[0], "--revision-cache-expiration", revisionExpiration,
		},
	})
	if err != nil {
		return err
	}
	close(f.repoServerStarted)
	return p.awaitHTTP(ctx, "http://"+local(ports[2])+"/healthz?full=true")
}

// openRepository serves the repository under the address that the examples name
// and returns the proxy to use.
func (f *Fleet) openRepository(port int) (proxy string, err error) {
	authority, err := newAuthority("git")
	if err != nil {
		return "", err
	}
	signed, err := authority.server(gitHost)
	if err != nil {
		return "", err
	}
	certificate, err := tls.X509KeyPair(signed.certificate, signed.key)
	if err != nil {
		return "", err
	}
	if err := writeFiles(f.path("git-tls"), map[string][]byte{gitHost: authority.pem()}); err != nil {
		return "", err
	}
	backend, err := url.Parse(f.backing.git)
	if err != nil {
		return "", err
	}
	return "http://" + local(port), startGitFront(f.ctx, port, certificate, backend)
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
	binary, err := part("argocd")
	if err != nil {
		return err
	}
	port, err := f.port()
	if err != nil {
		return err
	}
	identity, err := f.identity(ctx, c, ArgoCDNamespace, "argocd-application-controller", fleetLife)
	if err != nil {
		return err
	}
	select {
	case <-f.repoServerStarted:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p, err := f.run(ctx, command{
		name: c.Name + "-argocd",
		// it takes https://kubernetes.default.svc for the cluster of this kubeconfig
		env: []string{argocdName("application-controller"), "KUBECONFIG=" + identity, "ARGOCD_FAKE_IN_CLUSTER=true"},
		args: []string{
			binary, "--kubeconfig", identity, "--namespace", ArgoCDNamespace, "--repo-server", f.repoServer, "--repo-server-plaintext",
			"--redis", redis, "--metrics-port", strconv.Itoa(port), "--status-processors", "2", "--operation-processors", "2",
			"--app-resync", strconv.Itoa(resyncSeconds), "--app-resync-jitter", "0",
		},
	})
	if err != nil {
		return err
	}
	return p.awaitHTTP(ctx, "http://"+local(port)+"/healthz")
}

// startApplicationSets starts Argo CD's ApplicationSet controller on the hub.
func (f *Fleet) startApplicationSets(ctx context.Context) error {
	binary, err := part("argocd")
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
	p, err := f.run(ctx, command{
		name: "hub-applicationsets",
		env:  []string{argocdName("applicationset-controller"), "KUBECONFIG=" + identity},
		args: []string{
			binary, "--kubeconfig", identity, "--namespace", ArgoCDNamespace, "--metrics-addr", local(ports[0]), "--probe-addr", local(ports[1]),
			"--webhook-addr", local(ports[2]), "--argocd-repo-server", f.repoServer, "--repo-server-plaintext", "--enable-progressive-syncs",
		},
	})
	if err != nil {
		return err
	}
	return p.awaitHTTP(ctx, "http://"+local(ports[0])+"/metrics") // its probe port knows no /healthz
}
