// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// bootstrapUser may request the registration of a cluster. The hub approves the request at once.
const (
	bootstrapUser  = "bootstrap"
	bootstrapGroup = "system:bootstrappers:managedcluster"
)

// startOCMHub starts registration and placement on the hub, and the add-on manager with
// [Options.AddOnManager]. It closes open when clusters may register.
func (f *Fleet) startOCMHub(ctx context.Context, open chan<- struct{}) (err error) {
	defer must.Return(&err)
	registration := must.Get(f.Processes.runOCM(ctx, newest, "hub-registration", "registration", "controller", "--kubeconfig="+f.Hub.Kubeconfig,
		"--namespace="+hubNamespace, "--feature-gates=ManagedClusterAutoApproval=true", "--auto-approved-csr-users="+bootstrapUser))
	close(open)
	placement := must.Get(f.Processes.runOCM(ctx, newest, "hub-placement", "placement", "controller", "--kubeconfig="+f.Hub.Kubeconfig, "--namespace="+hubNamespace))
	if f.Processes.options.AddOnManager {
		must.OK(f.Processes.startAddOnManager(ctx, f.Hub))
	}
	must.OK(registration.ready(ctx))
	return placement.ready(ctx)
}

// startAddOnManager starts the add-on manager with the account and the permissions in OCM's own manifests.
func (ps *Processes) startAddOnManager(ctx context.Context, hub *Cluster) (err error) {
	defer must.Return(&err)
	for _, name := range []string{"serviceaccount.yaml", "clusterrole.yaml", "clusterrolebinding.yaml"} {
		parsed := must.Get(template.ParseFiles(must.Get(part(filepath.Join("manifests", "addon-manager", name)))))
		var text bytes.Buffer
		must.OK(parsed.Execute(&text, map[string]any{"ClusterManagerName": "hub", "ClusterManagerNamespace": hubNamespace, "Labels": map[string]string{}}))
		must.OK(hub.Apply(ctx, must.Get(parseObjects(text.Bytes()))...))
	}
	identity := must.Get(ps.identity(ctx, hub, hubNamespace, "addon-manager-controller-sa", fleetLife))
	manager := must.Get(ps.runOCM(ctx, newest, "hub-addon-manager", "addon", "manager", "--kubeconfig="+identity, "--namespace="+hubNamespace))
	return manager.ready(ctx)
}

// listener is a process and the port that it opens when it is ready.
type listener struct {
	*Process
	port int
}

func (l listener) ready(ctx context.Context) error { return l.awaitPort(ctx, l.port) }

// agentRestarts is how often a binary of Open Cluster Management may exit on its own.
const agentRestarts = 2

// register runs the registration agent of a managed cluster until the hub has signed its certificate and
// reports the cluster as available. Then it runs the work agent with that certificate.
func (f *Fleet) register(ctx context.Context, c *Cluster, hubOpen <-chan struct{}) (err error) {
	defer must.Return(&err)
	identity := must.Get(f.Processes.identity(ctx, c, agentNamespace, "klusterlet-registration", fleetLife))
	select {
	case <-hubOpen:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The agent creates this object itself, unless its certificate is signed first, as may happen on a busy
	// machine. Then it never creates the object.
	accepted := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	if err := f.Hub.Client.Create(ctx, accepted); err != nil {
		return fmt.Errorf("accept %s on the hub: %w", c.Name, err)
	}
	bootstrap := must.Get(f.Hub.userKubeconfig(bootstrapUser+"-"+c.Name, bootstrapUser, bootstrapGroup))
	toHub := filepath.Join(c.folder, "hub")
	agent := must.Get(f.Processes.runOCM(ctx, c.parts, c.Name+"-registration-agent", "registration", "agent", "--kubeconfig="+identity, "--namespace="+agentNamespace,
		"--spoke-cluster-name="+c.Name, "--bootstrap-kubeconfig="+bootstrap, "--hub-kubeconfig-dir="+toHub, "--cluster-healthcheck-period=10s"))
	kubeconfig := filepath.Join(toHub, "kubeconfig")
	err = Wait(ctx, "the hub to sign the certificate of "+c.Name, func(context.Context) (bool, string) {
		info, err := os.Stat(kubeconfig)
		return err == nil && info.Size() > 0, fmt.Sprint(err)
	})
	if err != nil {
		return agent.explain(err)
	}
	work := must.Get(f.Processes.startWorkAgent(ctx, c, kubeconfig))
	must.OK(agent.explain(f.AwaitAvailable(ctx, c.Name)))
	return work.ready(ctx)
}

// AwaitAvailable waits until the hub reports a managed cluster as available.
func (f *Fleet) AwaitAvailable(ctx context.Context, name string) error {
	return Wait(ctx, "the hub to call "+name+" available", func(ctx context.Context) (bool, string) {
		cluster := &clusterv1.ManagedCluster{}
		if err := f.Hub.Client.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return false, err.Error()
		}
		return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable), conditionsText(cluster)
	})
}

func conditionsText(c *clusterv1.ManagedCluster) string {
	text := "no conditions"
	for i, condition := range c.Status.Conditions {
		if i == 0 {
			text = ""
		}
		text += fmt.Sprintf("%s=%s (%s) ", condition.Type, condition.Status, condition.Message)
	}
	return text
}

// runOCM starts one of the binaries of Open Cluster Management on a separate port.
func (ps *Processes) runOCM(ctx context.Context, parts generation, name string, args ...string) (_ listener, err error) {
	defer must.Return(&err)
	path := must.Get(parts.part("ocm"))
	port := must.Get(ps.FreePort())
	// A registration agent that reads the hub's kubeconfig during a write of the file exits, and needs a
	// restart by the kubelet.
	p, err := ps.run(ctx, command{name: name, args: append(append([]string{path}, args...), "--listen="+local(port), "--disable-leader-election"), restarts: agentRestarts})
	return listener{p, port}, err
}

func (ps *Processes) startWorkAgent(ctx context.Context, c *Cluster, toHub string) (listener, error) {
	identity, err := ps.identity(ctx, c, agentNamespace, "klusterlet-work", fleetLife)
	if err != nil {
		return listener{}, err
	}
	return ps.runOCM(ctx, c.parts, c.Name+"-work-agent", c.workAgent(identity, toHub, ps.options)...)
}

// workAgent returns the arguments of a cluster's work agent for a hub.
func (c *Cluster) workAgent(identity, toHub string, o Options) []string {
	return []string{
		"work", "agent", "--kubeconfig=" + identity, "--namespace=" + agentNamespace,
		"--spoke-cluster-name=" + c.Name, "--workload-source-driver=kube", "--workload-source-config=" + toHub,
		"--agent-id=" + c.Name + "-agent", "--status-sync-interval=" + o.StatusPoll.String(),
	}
}
