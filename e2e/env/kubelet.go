// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"path/filepath"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Run runs another program as a process of the fleet, with nothing of this program's
// environment but PATH: it ends with the fleet, and its own end is a failure of the fleet.
func (ps *Processes) Run(ctx context.Context, name string, args ...string) (*Process, error) {
	return ps.run(ctx, command{name: name, args: args})
}

// RunContainer is Run for a program that is given variables, and that is started again as
// a kubelet would when it ends by itself, up to restarts times.
func (ps *Processes) RunContainer(ctx context.Context, name string, variables []string, restarts int, args ...string) (*Process, error) {
	return ps.run(ctx, command{name: name, args: args, env: variables, restarts: restarts})
}

// Part returns the path of a part that e2e/tools builds, or an error that says how to.
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

// Address returns where the cluster's API server listens, as host and port.
func (c *Cluster) Address() string { return strings.TrimPrefix(c.Config.Host, "https://") }
