// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// The clusters need these controllers. Others would only use memory.
var (
	commonControllers = []string{
		"namespace-controller", "garbage-collector-controller", "serviceaccount-controller", "serviceaccount-token-controller",
		"clusterrole-aggregation-controller",
	}
	hubControllers     = append(commonControllers[:len(commonControllers):len(commonControllers)], "certificatesigningrequest-signing-controller", "certificatesigningrequest-cleaner-controller")
	managedControllers = append(commonControllers[:len(commonControllers):len(commonControllers)], "deployment-controller", "replicaset-controller", "endpoints-controller", "endpointslice-controller")
	// nodeControllers are the further controllers of a hub with a node.
	nodeControllers = []string{
		"deployment-controller", "replicaset-controller", "endpoints-controller", "endpointslice-controller", "disruption-controller",
		"node-lifecycle-controller", "taint-eviction-controller", "root-ca-certificate-publisher-controller",
	}
)

// unneededAdmission are admission plugins that need nodes, storage or quotas.
const unneededAdmission = "TaintNodesByCondition,PodSecurity,Priority,DefaultTolerationSeconds,DefaultStorageClass," +
	"StorageObjectInUseProtection,PersistentVolumeClaimResize,RuntimeClass,DefaultIngressClass,PodTopologyLabels,LimitRanger,ResourceQuota"

// startControlPlane starts a cluster's API server and controller manager.
func (f *Fleet) startControlPlane(ctx context.Context, c *Cluster, controllers []string) error {
	if err := f.startAPIServer(ctx, c); err != nil {
		return err
	}
	close(c.serving)
	f.Processes.progress("%s: the API server is ready", c.Name)
	if f.Processes.options.HubOnly {
		return nil
	}
	return f.Processes.startControllers(ctx, c, controllers)
}

func (f *Fleet) startAPIServer(ctx context.Context, c *Cluster) (err error) {
	defer must.Return(&err)
	binary := must.Get(part("kube-apiserver"))
	file := func(name string) string { return filepath.Join(c.folder, name) }
	args := []string{
		binary, "--etcd-servers=" + f.etcd, "--etcd-prefix=/" + c.Name,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.port), "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + file("server.crt"), "--tls-private-key-file=" + file("server.key"), "--client-ca-file=" + file("ca.crt"),
		// Without these two flags, every client that reads the front proxy's CA logs errors every few
		// seconds.
		"--requestheader-client-ca-file=" + file("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + file("tokens.key"),
		"--service-account-signing-key-file=" + file("tokens.key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC", "--allow-privileged=true",
		"--enable-priority-and-fairness=false", "--profiling=false", "--event-ttl=10m",
	}
	if c == f.Hub && f.Processes.options.Node {
		args = append(args, "--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction")
	} else {
		args = append(args, "--disable-admission-plugins="+unneededAdmission)
	}
	var environment []string
	if c == f.Hub {
		args, environment = append(args, f.Processes.options.APIServer...), f.Processes.options.APIServerEnvironment
	}
	p := must.Get(f.Processes.run(ctx, command{name: c.Name + "-apiserver", args: args, env: environment}))
	must.OK(c.connect())
	answers := must.Get(discovery.NewDiscoveryClientForConfig(c.Config))
	return p.explain(Wait(ctx, "the API server of "+c.Name, func(ctx context.Context) (bool, string) {
		body, err := answers.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err != nil {
			return false, err.Error() + " " + string(body)
		}
		return true, ""
	}))
}

func (ps *Processes) startControllers(ctx context.Context, c *Cluster, controllers []string) (err error) {
	defer must.Return(&err)
	binary := must.Get(part("kube-controller-manager"))
	file := func(name string) string { return filepath.Join(c.folder, name) }
	p := must.Get(ps.run(ctx, command{name: c.Name + "-controllers", args: []string{
		binary, "--kubeconfig=" + c.Kubeconfig, "--secure-port=0", "--leader-elect=false", "--controllers=" + strings.Join(controllers, ","),
		"--service-account-private-key-file=" + file("tokens.key"), "--root-ca-file=" + file("ca.crt"),
		"--cluster-signing-cert-file=" + file("ca.crt"), "--cluster-signing-key-file=" + file("ca.key"), "--profiling=false",
	}}))
	return p.explain(Wait(ctx, "the controllers of "+c.Name+" to make the first ServiceAccount", func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, fmt.Sprint(err)
	}))
}
