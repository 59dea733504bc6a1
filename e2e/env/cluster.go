// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Cluster is one cluster of the fleet.
type Cluster struct {
	// Name is "hub" or the managed cluster's name.
	Name string
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string
	// Config is an administrator's configuration without a client-side rate limit.
	Config *rest.Config
	// Client is an administrator's client for all kinds of the fleet.
	Client client.WithWatch
	// Redis is the address of its Argo CD's Redis.
	Redis string

	parts     generation
	folder    string
	serving   chan struct{} // closed when the API server is ready
	port      int
	authority *authority
}

// Scheme returns the scheme of the fleet's clients.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.Install, clusterv1beta1.Install, clusterv1beta2.Install, workv1.Install, addonv1alpha1.Install,
		argocd.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	return s, nil
}

// newCluster creates a cluster's certificates, kubeconfig and client configuration. It starts no process.
func newCluster(name, folder string, port int) (_ *Cluster, err error) {
	defer must.Return(&err)
	a := must.Get(newAuthority(name))
	c := &Cluster{Name: name, folder: filepath.Join(folder, name), serving: make(chan struct{}), port: port, authority: a}
	server := must.Get(a.server("kube-apiserver", "localhost", "kubernetes.default.svc"))
	tokenAuthority := must.Get(newAuthority(name + "-tokens"))
	tokenKey := must.Get(keyutil.MarshalPrivateKeyToPEM(tokenAuthority.key))
	ownKey := must.Get(keyutil.MarshalPrivateKeyToPEM(a.key))
	must.OK(writeFiles(c.folder, map[string][]byte{
		"ca.crt": a.pem(), "ca.key": ownKey, "server.crt": server.certificate, "server.key": server.key, "tokens.key": tokenKey,
	}))
	c.Kubeconfig = must.Get(c.UserKubeconfig("admin", "system:masters"))
	c.Config = must.Get(clientcmd.BuildConfigFromFlags("", c.Kubeconfig))
	c.Config.QPS = -1
	return c, nil
}

// connect creates the client. The API server must answer already.
func (c *Cluster) connect() error {
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	c.Client, err = client.NewWithWatch(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make a client for %s: %w", c.Name, err)
	}
	return nil
}

// writeKubeconfig writes a kubeconfig for a user of the cluster and returns its path.
func (c *Cluster) writeKubeconfig(user string, auth *clientcmdapi.AuthInfo) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: "https://" + local(c.port), CertificateAuthorityData: c.authority.pem()}
	config.AuthInfos[user] = auth
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	path := kubeconfigFile(c, user)
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s for %s: %w", c.Name, user, err)
	}
	return path, nil
}

// kubeconfigFile returns the path of a user's kubeconfig.
func kubeconfigFile(c *Cluster, user string) string {
	return filepath.Join(c.folder, user+".kubeconfig")
}
