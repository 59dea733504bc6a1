// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	principalName = "argocd-agent-principal"
	agentName     = "argocd-agent-agent"
	look          = 200 * time.Millisecond
)

// principalSecrets are the Secrets that gitopscluster creates for the principal.
var principalSecrets = []string{"argocd-agent-ca", "argocd-agent-principal-tls", "argocd-agent-resource-proxy-tls", "argocd-agent-jwt"}

// node acts as a kubelet for one container. It runs the binary with the arguments, variables and Secrets of
// the pod, as the pod's ServiceAccount.
type node struct {
	fleet   *env.Fleet
	cluster *env.Cluster
	binary  string
	// variables replace the variables of the pod that contain addresses and ports of a cluster network.
	variables map[string]string
	health    string // the port of the agent's readiness probe

	started int
	uid     string
	process atomic.Pointer[env.Process] // nil while none runs
	ready   bool
	failed  int
	next    time.Time
}

// play calls once repeatedly until the fleet ends.
func (n *node) play(ctx context.Context, once func(context.Context)) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := must.Try(func() { once(ctx) })
		// The next call retries after a missing Secret or a conflict.
		if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			fmt.Fprintf(os.Stderr, "kubelet of %s: %v\n", n.cluster.Name, err)
		}
	}, look)
}

// start runs a pod's container. It fails while an object that the pod needs is missing.
func (n *node) start(ctx context.Context, uid, namespace string, pod corev1.PodSpec) {
	container := pod.Containers[0]
	folder := filepath.Join(n.fleet.Processes.Folder(), "pods", n.cluster.Name, fmt.Sprint(n.started))
	variables := must.Get(n.cluster.Environment(ctx, namespace, container))
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 || pod.Volumes[i].Secret == nil {
			continue // the token, because the kubeconfig replaces it
		}
		n.mount(ctx, namespace, pod.Volumes[i].Secret, filepath.Join(folder, mount.MountPath))
		for name, value := range variables {
			if strings.HasPrefix(value, mount.MountPath+"/") {
				variables[name] = filepath.Join(folder, value)
			}
		}
	}
	for name, value := range n.variables {
		if _, set := variables[name]; !set || name != "REDIS_ADDR" { // a variable that the product has set stays
			variables[name] = value
		}
	}
	list := make([]string, 0, len(variables))
	for name, value := range variables {
		list = append(list, name+"="+value)
	}
	kubeconfig := must.Get(n.cluster.UserKubeconfig("system:serviceaccount:"+namespace+":"+pod.ServiceAccountName,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated"))
	args := append(append([]string{n.binary}, container.Args...), "--kubeconfig", kubeconfig)
	n.process.Store(must.Get(n.fleet.Processes.RunContainer(ctx, fmt.Sprintf("%s-%s-%d", n.cluster.Name, container.Name, n.started), list, 20, args...)))
	n.started++
	n.uid, n.ready, n.failed, n.next = uid, false, 0, time.Now()
}

func (n *node) stop(ctx context.Context) {
	if process := n.process.Swap(nil); process != nil {
		n.uid, n.ready = "", false
		must.OK(process.Stop(ctx))
	}
}

func (n *node) mount(ctx context.Context, namespace string, source *corev1.SecretVolumeSource, folder string) {
	secret := &corev1.Secret{}
	err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: source.SecretName}, secret)
	if source.Optional != nil && *source.Optional {
		err = client.IgnoreNotFound(err)
	}
	must.OK(err)
	write(folder, secret.Data)
}

// write creates a folder and writes files into it.
func write(folder string, files map[string][]byte) {
	must.OK(os.MkdirAll(folder, 0o700))
	for name, content := range files {
		must.OK(os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
}

// probe is the readiness probe of the agent, with its period and threshold.
func (n *node) probe(ctx context.Context, path string) {
	if time.Now().Before(n.next) {
		return
	}
	n.next = time.Now().Add(5 * time.Second)
	if healthy(ctx, n.health, path) {
		n.ready, n.failed = true, 0
	} else if n.failed++; n.failed >= 2 {
		n.ready = false
	}
}

// local sends requests to processes on this machine, without TLS.
var local = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func healthy(ctx context.Context, port, path string) bool {
	response, err := local.Do(must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+path, nil)))
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// agent runs the pod of a managed cluster's agent. No scheduler binds the pod, so kwok ignores it.
func (n *node) agent(ctx context.Context) {
	var pods corev1.PodList
	must.OK(n.cluster.Client.List(ctx, &pods, client.MatchingLabels{"app.kubernetes.io/name": agentName}))
	i := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp.IsZero() })
	if i < 0 {
		n.stop(ctx)
		return
	}
	pod := &pods.Items[i]
	if n.uid != string(pod.UID) {
		n.stop(ctx)
		n.start(ctx, string(pod.UID), pod.Namespace, pod.Spec)
	}
	n.probe(ctx, pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Path)
	ready := corev1.ConditionFalse
	if n.ready {
		ready = corev1.ConditionTrue
	}
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == ready }) {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready}}
	must.OK(n.cluster.Client.Status().Update(ctx, pod))
}

// principal runs the pod of the principal's Deployment. It also acts as the Deployment controller, which the
// hub does not have.
func (n *node) principal(ctx context.Context) {
	d := &appsv1.Deployment{}
	must.OK(n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: principalName}, d))
	if uid := fmt.Sprint(d.Generation); n.uid != uid {
		for _, name := range principalSecrets {
			secret(ctx, n.cluster.Client, name) // without the Secret the principal would exit at once
		}
		n.stop(ctx)
		n.start(ctx, uid, env.ArgoCDNamespace, d.Spec.Template.Spec)
	}
	want := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1}
	if dialled(ctx, fmt.Sprintf("127.0.0.1:%d", principalPort)) {
		want.ReadyReplicas, want.AvailableReplicas = 1, 1
	}
	if d.Status.ObservedGeneration != want.ObservedGeneration || d.Status.AvailableReplicas != want.AvailableReplicas {
		d.Status = want
		must.OK(n.cluster.Client.Status().Update(ctx, d))
	}
}

func dialled(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	return err == nil && connection.Close() == nil
}
