// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"path/filepath"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Run runs another program as a process of the fleet, with PATH as the only variable from this program's
// environment. The process ends with the fleet. If it exits earlier, the fleet fails.
func (ps *Processes) Run(ctx context.Context, name string, args ...string) (*Process, error) {
	return ps.run(ctx, command{name: name, args: args})
}

// RunContainer is [Processes.Run] for a program with variables. If the program exits, RunContainer restarts
// it like a kubelet, up to restarts times: the first time at once, then after a second.
func (ps *Processes) RunContainer(ctx context.Context, name string, variables []string, restarts int, args ...string) (*Process, error) {
	return ps.run(ctx, command{name: name, args: args, env: variables, restarts: restarts})
}

// Part returns the path of a component that e2e/tools builds, or an error with the command that builds it.
func Part(name string) (string, error) { return part(name) }

// UserKubeconfig writes a kubeconfig for a user of the cluster and returns its path.
func (c *Cluster) UserKubeconfig(user string, groups ...string) (string, error) {
	return c.userKubeconfig(user, user, groups...)
}

func (c *Cluster) userKubeconfig(file, user string, groups ...string) (string, error) {
	signed, err := c.authority.client(user, groups...)
	if err != nil {
		return "", err
	}
	return c.writeKubeconfig(file, &clientcmdapi.AuthInfo{ClientCertificateData: signed.certificate, ClientKeyData: signed.key})
}

// CAFile returns the path of the certificate of the cluster's authority.
func (c *Cluster) CAFile() string { return filepath.Join(c.folder, "ca.crt") }

// Address returns the address of the cluster's API server, as host and port.
func (c *Cluster) Address() string { return strings.TrimPrefix(c.Config.Host, "https://") }
