// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// RunDelivered starts Argo CD's application controller of a cluster as the StatefulSet that
// was delivered there says: with the rights of its ServiceAccount, its arguments, and its
// environment as the cluster's ConfigMaps have it. What a pod would find by the cluster's DNS
// is the fleet's: Redis and the repository server.
func (c *Cluster) RunDelivered(ctx context.Context, f *Fleet, set *appsv1.StatefulSet) (err error) {
	defer must.Return(&err)
	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.Containers[0].Args) == 0 {
		return fmt.Errorf("StatefulSet %s has %d containers, or no arguments", set.Name, len(pod.Containers))
	}
	container := pod.Containers[0]
	if name := filepath.Base(container.Args[0]); name != "argocd-application-controller" || len(container.Args) > 1 {
		return fmt.Errorf("StatefulSet %s runs %q", set.Name, container.Args)
	}
	environment := must.Get(c.environment(ctx, set.Namespace, container))
	identity := must.Get(f.identity(ctx, c, set.Namespace, pod.ServiceAccountName, fleetLife))
	return c.runController(ctx, f, component{identity: identity, env: environment})
}

// environment returns a container's variables, but for Redis, whose address and password are
// the fleet's, and for a folder of the image.
func (c *Cluster) environment(ctx context.Context, namespace string, container corev1.Container) ([]string, error) {
	var all []string
	for _, v := range container.Env {
		value := v.Value
		if strings.HasPrefix(v.Name, "REDIS") || v.Name == "KUBECACHEDIR" {
			continue
		}
		if from := v.ValueFrom; from != nil {
			if from.ConfigMapKeyRef == nil {
				return nil, fmt.Errorf("variable %s is from no ConfigMap", v.Name)
			}
			config := &corev1.ConfigMap{}
			if err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: from.ConfigMapKeyRef.Name}, config); err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.Name, err)
			}
			if value = config.Data[from.ConfigMapKeyRef.Key]; value == "" {
				continue
			}
		}
		all = append(all, v.Name+"="+value)
	}
	return all, nil
}
