// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	// ArgoCDController is the name of Argo CD's StatefulSet and of its program.
	ArgoCDController = "argocd-application-controller"
	// delivered is an annotation of the objects in deploy/examples/argocd-on-clusters.
	delivered = "addon.open-cluster-management.io/deletion-orphan"
	// kubeletPeriod is the interval of the simulated kubelet and scheduler.
	kubeletPeriod = 100 * time.Millisecond
)

// Bind acts as the scheduler for a cluster's pods with the given labels until ctx ends. The fleet has no
// scheduler, and kwok runs the pods of its node. Pods of other Deployments name that node themselves.
func (c *Cluster) Bind(ctx context.Context, pods client.MatchingLabels) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		var list corev1.PodList
		if err := c.Client.List(ctx, &list, pods); err != nil {
			return
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.Spec.NodeName == "" && p.DeletionTimestamp.IsZero() {
				// A pod that was deleted in the meantime needs no node.
				_ = c.Client.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: NodeName}})
			}
		}
	}, kubeletPeriod)
}

// playArgoCD acts as the components that run a delivered Argo CD, until the fleet ends. These are the
// scheduler, and the StatefulSet controller and kubelet of the application controller. It marks the
// controller as ready when its probe succeeds.
func (c *Cluster) playArgoCD(f *Fleet) {
	for _, name := range []string{"argocd-redis", "argocd-repo-server"} {
		go c.Bind(f.Processes.ctx, client.MatchingLabels{"app.kubernetes.io/name": name})
	}
	var running *Process
	go wait.UntilWithContext(f.Processes.ctx, func(ctx context.Context) {
		set := &appsv1.StatefulSet{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: ArgoCDNamespace, Name: ArgoCDController}, set)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return
		case err != nil && running != nil:
			_ = running.Stop(ctx)
			running = nil
			return
		case err != nil:
			return
		}
		if _, ours := set.Annotations[delivered]; !ours {
			return
		}
		if running == nil {
			err := c.runDelivered(ctx, f, set)
			if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return // the pod needs objects that do not exist yet
			}
			if err != nil {
				f.Processes.fail(fmt.Errorf("run the Argo CD that was delivered to %s: %w", c.Name, err))
				return
			}
			running, _ = f.Processes.Get(c.Name + "-argocd")
		}
		if set.Status.ObservedGeneration == set.Generation {
			return
		}
		set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, CurrentReplicas: 1, UpdatedReplicas: 1}
		_ = c.Client.Status().Update(ctx, set) // the next pass retries
	}, kubeletPeriod)
}

// runDelivered starts Argo CD's application controller of a cluster from the delivered StatefulSet. It uses
// the StatefulSet's ServiceAccount and arguments, and the variables from the cluster's ConfigMaps. Redis and
// the repository server are the fleet's, where a pod would use the cluster's DNS.
func (c *Cluster) runDelivered(ctx context.Context, f *Fleet, set *appsv1.StatefulSet) (err error) {
	defer must.Return(&err)
	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.Containers[0].Args) == 0 {
		return fmt.Errorf("StatefulSet %s has %d containers, or no arguments", set.Name, len(pod.Containers))
	}
	for _, name := range []string{"applications.argoproj.io", "appprojects.argoproj.io"} {
		definition := &metav1.PartialObjectMetadata{}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		must.OK(c.Client.Get(ctx, client.ObjectKey{Name: name}, definition)) // without it the container would exit
	}
	container := pod.Containers[0]
	if name := filepath.Base(container.Args[0]); name != ArgoCDController || len(container.Args) > 1 {
		return fmt.Errorf("StatefulSet %s runs %q", set.Name, container.Args)
	}
	// Redis and its password are the fleet's, and the cache folder exists only in the image.
	variables := must.Get(c.Environment(ctx, set.Namespace, container, "REDIS", "KUBECACHEDIR"))
	identity := must.Get(f.Processes.identity(ctx, c, set.Namespace, pod.ServiceAccountName, fleetLife))
	var environment []string
	for name, value := range variables {
		environment = append(environment, name+"="+value)
	}
	return c.runController(ctx, f, component{identity: identity, env: environment})
}

// Environment returns the variables of a pod's container by name, with the values of its ConfigMaps and
// Secrets. It omits the variables that begin with one of without.
func (c *Cluster) Environment(ctx context.Context, namespace string, container corev1.Container, without ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, v := range container.Env {
		if slices.ContainsFunc(without, func(prefix string) bool { return strings.HasPrefix(v.Name, prefix) }) {
			continue
		}
		value, found, err := v.Value, true, error(nil)
		if from := v.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			config := &corev1.ConfigMap{}
			err = c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: from.ConfigMapKeyRef.Name}, config)
			value, found = config.Data[from.ConfigMapKeyRef.Key]
		} else if from != nil && from.SecretKeyRef != nil {
			secret := &corev1.Secret{}
			err = c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: from.SecretKeyRef.Name}, secret)
			if from.SecretKeyRef.Optional != nil && *from.SecretKeyRef.Optional {
				err = client.IgnoreNotFound(err)
			}
			var content []byte
			content, found = secret.Data[from.SecretKeyRef.Key]
			value = string(content)
		} else if from != nil {
			err = errors.New("is from neither ConfigMap nor Secret")
		}
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if found {
			all[v.Name] = value
		}
	}
	return all, nil
}
