// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	nodeName = "node-1"
	// criNamespace is containerd's namespace for the containers of a kubelet.
	criNamespace = "k8s.io"
)

//go:embed config
var config embed.FS

// node is a kubelet with containerd.
type node struct {
	fleet *env.Fleet
	// These are the values for the templates in config.
	Folder, Socket, Pause, Plugins, Cgroup, CAFile string
}

// startNode starts a node of the hub, with the images in its containerd, and a scheduler.
func startNode(ctx context.Context, fleet *env.Fleet, o options) *node {
	n := &node{
		fleet: fleet, Folder: o.folder, Socket: filepath.Join(o.folder, "containerd.sock"), Pause: pauseImage, Plugins: plugins,
		Cgroup: filepath.Base(o.folder), CAFile: fleet.Hub.CAFile(),
	}
	n.configure()
	must.OK(forward(fleet.Processes.Context(), net.JoinHostPort(env.ServiceAddress, "443"), fleet.Hub.Address())) //nolint:contextcheck // it lives as long as the fleet
	n.run(ctx, "containerd", must.Get(exec.LookPath("containerd")), "--config="+filepath.Join(n.Folder, "containerd.toml"))
	must.OK(env.Wait(ctx, "containerd to answer", func(ctx context.Context) (bool, string) {
		out, err := n.ctr(ctx, nil, "version")
		return err == nil, fmt.Sprint(out, err)
	}))
	n.importImages(ctx, o)
	n.run(ctx, "scheduler", must.Get(env.Part("kube-scheduler")), "--kubeconfig="+n.fleet.Hub.Kubeconfig, "--secure-port=0", "--leader-elect=false")
	n.startKubelet(ctx)
	return n
}

func (n *node) run(ctx context.Context, name string, args ...string) {
	must.Get(n.fleet.Processes.Run(ctx, name, args...))
}

// configure writes the files of config into the folder.
func (n *node) configure() {
	for from, to := range map[string]string{"containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml", "network.conflist": "cni/pods.conflist"} {
		var text bytes.Buffer
		must.OK(must.Get(template.ParseFS(config, "config/"+from)).Execute(&text, n))
		path := filepath.Join(n.Folder, to)
		must.OK(os.MkdirAll(filepath.Dir(path), 0o755))
		must.OK(os.WriteFile(path, text.Bytes(), 0o600))
	}
}

// importImages imports the images into containerd under their names in the manifests.
func (n *node) importImages(ctx context.Context, o options) {
	must.Get(n.ctr(ctx, pauseArchive(o.pause), "images", "import", "-"))
	for _, folder := range []string{o.images, o.next} {
		for _, name := range containers {
			must.Get(n.ctr(ctx, layoutArchive(folder, name), "images", "import", "--base-name="+registry+name, "-"))
		}
	}
}

// ctr runs containerd's own client and returns its output.
func (n *node) ctr(ctx context.Context, in io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address=" + n.Socket, "--namespace=" + criNamespace}, args...)...)
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// pids returns the process ID of each container, by the container's ID.
func (n *node) pids(ctx context.Context) map[string]int {
	pids := map[string]int{}
	for line := range strings.Lines(must.Get(n.ctr(ctx, nil, "task", "list"))) {
		if fields := strings.Fields(line); len(fields) == 3 {
			if pid, err := strconv.Atoi(fields[1]); err == nil { // not the header
				pids[fields[0]] = pid
			}
		}
	}
	return pids
}

func (n *node) startKubelet(ctx context.Context) {
	kubeconfig := must.Get(n.fleet.Hub.UserKubeconfig("system:node:"+nodeName, "system:nodes"))
	n.run(ctx, "kubelet", must.Get(env.Part("kubelet")), "--config="+filepath.Join(n.Folder, "kubelet.yaml"), "--kubeconfig="+kubeconfig,
		"--root-dir="+filepath.Join(n.Folder, "kubelet"), "--cert-dir="+filepath.Join(n.Folder, "pki"),
		"--hostname-override="+nodeName, "--node-ip="+nodeAddress)
	found := &corev1.Node{}
	must.OK(env.Wait(ctx, "the node to be ready", func(ctx context.Context) (bool, string) {
		if err := errors.Join(n.fleet.Processes.Err(), n.fleet.Hub.Client.Get(ctx, client.ObjectKey{Name: nodeName}, found)); err != nil {
			return false, err.Error()
		}
		for _, c := range found.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue, c.Message
			}
		}
		return false, "no condition Ready"
	}))
	info := found.Status.NodeInfo
	say(fmt.Sprintf("Node %s is Ready: kubelet %s, %s, kernel %s.", nodeName, info.KubeletVersion, info.ContainerRuntimeVersion, info.KernelVersion))
}

// forward forwards connections until ctx ends, like kube-proxy for a Service.
func forward(ctx context.Context, from, to string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", from)
	if err != nil {
		return fmt.Errorf("listen where pods look for the API server: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() }) // nothing was written
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			go env.Connect(ctx, in, to)
		}
	}()
	return nil
}
