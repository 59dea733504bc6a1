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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	principalName = "argocd-agent-principal"
	agentName     = "argocd-agent-agent"
	look          = 200 * time.Millisecond
)

// node plays a kubelet for one container: it runs the binary with the arguments, variables
// and Secrets that a pod has, as the pod's ServiceAccount.
type node struct {
	fleet   *env.Fleet
	cluster *env.Cluster
	binary  string
	// variables replace those of the pod: what addresses and ports of a cluster network
	// are on this machine.
	variables map[string]string

	started int
	uid     string
	process atomic.Pointer[env.Process] // nil while none runs
	health  string
	ready   bool
	failed  int
	next    time.Time
}

// start runs a pod's container. It fails while something that the pod needs is missing.
func (n *node) start(ctx context.Context, uid, namespace string, pod corev1.PodSpec) error {
	container := pod.Containers[0]
	folder := filepath.Join(n.fleet.Folder(), "pods", n.cluster.Name, strconv.Itoa(n.started))
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 || pod.Volumes[i].Secret == nil {
			continue // the token, for which the kubeconfig stands
		}
		if err := n.mount(ctx, namespace, pod.Volumes[i].Secret, filepath.Join(folder, mount.MountPath)); err != nil {
			return err
		}
	}
	variables := map[string]string{}
	for _, v := range container.Env {
		value, there, err := n.value(ctx, namespace, v)
		if err != nil {
			return err
		}
		if there {
			for _, mount := range container.VolumeMounts {
				if strings.HasPrefix(value, mount.MountPath+"/") {
					value = filepath.Join(folder, value)
				}
			}
			variables[v.Name] = value
		}
	}
	if port := container.ReadinessProbe; port != nil {
		n.health = fmt.Sprintf("http://127.0.0.1:%s%s", n.variables["ARGOCD_AGENT_HEALTH_CHECK_PORT"], port.HTTPGet.Path)
	}
	var list []string
	for name, value := range n.variables {
		if _, said := variables[name]; !said || name != "REDIS_ADDR" { // one that the product has set is used
			variables[name] = value
		}
	}
	for name, value := range variables {
		list = append(list, name+"="+value)
	}
	kubeconfig, err := n.cluster.UserKubeconfig("system:serviceaccount:"+namespace+":"+pod.ServiceAccountName,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
	if err != nil {
		return err
	}
	args := append(append([]string{n.binary}, container.Args...), "--kubeconfig", kubeconfig)
	process, err := n.fleet.RunContainer(ctx, fmt.Sprintf("%s-%s-%d", n.cluster.Name, container.Name, n.started), list, 20, args...)
	n.process.Store(process)
	n.started++
	n.uid, n.ready, n.failed, n.next = uid, false, 0, time.Now()
	return err
}

func (n *node) stop(ctx context.Context) error {
	process := n.process.Swap(nil)
	if process == nil {
		return nil
	}
	n.uid, n.ready = "", false
	return process.Stop(ctx)
}

func (n *node) mount(ctx context.Context, namespace string, source *corev1.SecretVolumeSource, folder string) error {
	secret := &corev1.Secret{}
	err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: source.SecretName}, secret)
	if err != nil && (source.Optional == nil || !*source.Optional || client.IgnoreNotFound(err) != nil) {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for key, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(folder, key), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// value returns a variable's value, and whether it is set.
func (n *node) value(ctx context.Context, namespace string, v corev1.EnvVar) (string, bool, error) {
	switch {
	case v.ValueFrom == nil:
		return v.Value, true, nil
	case v.ValueFrom.ConfigMapKeyRef != nil:
		config := &corev1.ConfigMap{}
		err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.ValueFrom.ConfigMapKeyRef.Name}, config)
		value, there := config.Data[v.ValueFrom.ConfigMapKeyRef.Key]
		return value, there, err
	case v.ValueFrom.SecretKeyRef != nil:
		secret := &corev1.Secret{}
		err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.ValueFrom.SecretKeyRef.Name}, secret)
		if optional := v.ValueFrom.SecretKeyRef.Optional; optional != nil && *optional {
			err = client.IgnoreNotFound(err)
		}
		value, there := secret.Data[v.ValueFrom.SecretKeyRef.Key]
		return string(value), there, err
	}
	return "", false, fmt.Errorf("variable %s from elsewhere", v.Name)
}

// probe is the readiness probe of the agent, with its period and threshold.
func (n *node) probe(ctx context.Context) {
	if n.process.Load() == nil || time.Now().Before(n.next) {
		return
	}
	n.next = time.Now().Add(5 * time.Second)
	if healthy(ctx, n.health) {
		n.ready, n.failed = true, 0
	} else if n.failed++; n.failed >= 2 {
		n.ready = false
	}
}

func healthy(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := local.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close() // nothing was written
	return response.StatusCode == http.StatusOK
}

// local dials what runs here, without TLS.
var local = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// playAgents runs the pods of a managed cluster's agent until the fleet ends. No scheduler
// binds them, so that kwok leaves them to this.
func (n *node) playAgents(ctx context.Context) error {
	return every(ctx, func() error {
		var pods corev1.PodList
		if err := n.cluster.Client.List(ctx, &pods, client.MatchingLabels{"app.kubernetes.io/name": agentName}); err != nil {
			return err
		}
		i := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp.IsZero() })
		if i < 0 {
			return n.stop(ctx)
		}
		pod := &pods.Items[i]
		if n.uid != string(pod.UID) {
			if err := n.stop(ctx); err != nil {
				return err
			}
			if err := n.start(ctx, string(pod.UID), pod.Namespace, pod.Spec); err != nil {
				return client.IgnoreNotFound(err) // a Secret that comes later
			}
		}
		n.probe(ctx)
		return n.report(ctx, pod)
	})
}

func (n *node) report(ctx context.Context, pod *corev1.Pod) error {
	ready := corev1.ConditionFalse
	if n.ready {
		ready = corev1.ConditionTrue
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if i >= 0 && pod.Status.Conditions[i].Status == ready {
		return nil
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready}}
	return ignoreRace(n.cluster.Client.Status().Update(ctx, pod))
}

// playPrincipal runs the pod of the principal's Deployment, whose controller it plays too:
// the hub has none.
func (n *node) playPrincipal(ctx context.Context) error {
	return every(ctx, func() error {
		d := &appsv1.Deployment{}
		if err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: principalName}, d); err != nil {
			return client.IgnoreNotFound(err)
		}
		if uid := fmt.Sprint(d.Generation); n.uid != uid {
			// Without its Secrets it would end at once, again and again.
			for _, name := range []string{"argocd-agent-ca", "argocd-agent-principal-tls", "argocd-agent-resource-proxy-tls", "argocd-agent-jwt"} {
				if err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, &corev1.Secret{}); err != nil {
					return client.IgnoreNotFound(err)
				}
			}
			if err := n.stop(ctx); err != nil {
				return err
			}
			if err := n.start(ctx, uid, env.ArgoCDNamespace, d.Spec.Template.Spec); err != nil {
				return err
			}
		}
		n.ready = dialled(ctx, n.variables["LISTENS"])
		want := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1}
		if n.ready {
			want.ReadyReplicas, want.AvailableReplicas = 1, 1
		}
		if d.Status.ObservedGeneration == want.ObservedGeneration && d.Status.AvailableReplicas == want.AvailableReplicas {
			return nil
		}
		d.Status = want
		return ignoreRace(n.cluster.Client.Status().Update(ctx, d))
	})
}

func dialled(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	return err == nil && connection.Close() == nil
}

// every does something again and again until ctx ends.
func every(ctx context.Context, do func() error) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if err := do(); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
