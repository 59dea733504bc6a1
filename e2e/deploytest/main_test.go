// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	hub        *rest.Config
	kubeconfig string // of the hub's administrator
	auditLog   string
)

func TestMain(m *testing.M) {
	code, err := withHub(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withHub runs tests with an API server that has the CRDs of a hub and the default admission plugins, Pod
// Security among them. The server writes an audit log. Controllers empty namespaces and fill token Secrets.
func withHub(tests func() int) (code int, err error) {
	if err := env.Build(context.Background()); err != nil {
		return 1, err
	}
	var dir string
	var prepared error
	var environment *envtest.Environment
	config, stop, err := testkit.Start(func(env *envtest.Environment) {
		environment = env
		if dir, prepared = os.MkdirTemp("", "deploytest-"); prepared != nil {
			return
		}
		policy := filepath.Join(dir, "audit-policy.yaml")
		prepared = os.WriteFile(policy, []byte(auditPolicy), 0o600)
		auditLog = filepath.Join(dir, "audit.log")
		env.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", auditLog)
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if prepared != nil {
		return 1, prepared
	}
	hub, kubeconfig = config, filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(config, kubeconfig); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	controllers := testkit.Command(ctx, tool("kube-controller-manager"), "--kubeconfig="+kubeconfig, "--secure-port=0", "--leader-elect=false",
		"--controllers=namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller,serviceaccount-token-controller",
		"--service-account-private-key-file="+filepath.Join(environment.ControlPlane.GetAPIServer().CertDir, "sa-signer.key"))
	controllers.Stdout, controllers.Stderr = io.Discard, io.Discard
	if err := controllers.Start(); err != nil {
		cancel()
		return 1, fmt.Errorf("start kube-controller-manager: %w", err)
	}
	defer func() {
		cancel()
		_ = controllers.Wait() // it was killed
	}()
	return tests(), nil
}

func writeKubeconfig(c *rest.Config, path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: "https://" + strings.TrimPrefix(c.Host, "https://"), CertificateAuthorityData: c.CAData}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, TokenFile: c.BearerTokenFile}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "user"}
	config.CurrentContext = "hub"
	return clientcmd.WriteToFile(*config, path)
}
