// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// departures notes what goes, in its order.
type departures struct {
	mu   sync.Mutex
	seen []string
}

func (d *departures) watch(t *testing.T, c client.WithWatch, list client.ObjectList, namespace string, names ...string) {
	t.Helper()
	w, err := c.Watch(t.Context(), list, client.InNamespace(namespace))
	must(t, err)
	t.Cleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			o, ok := e.Object.(client.Object)
			if ok && e.Type == watch.Deleted && slices.Contains(names, o.GetName()) {
				d.mu.Lock()
				d.seen = append(d.seen, o.GetName())
				d.mu.Unlock()
			}
		}
	}()
}

// The agent goes before its key, the key is proven to be gone, and nothing else goes.
func TestLeaving(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		stays := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "stays"}}
		stays.Spec = []byte(`{"project":"default","source":{"repoURL":"https://git.example.com/none.git","path":"."},"destination":{"server":"https://kubernetes.default.svc","namespace":"default"}}`)
		must(t, c.Client.Create(t.Context(), stays))
		t.Cleanup(func() {
			if err := c.Client.Delete(context.WithoutCancel(t.Context()), stays); err != nil {
				t.Error(err)
			}
		})
		var order departures
		order.watch(t, c.Client, &appsv1.DeploymentList{}, "argocd", agentName)
		order.watch(t, c.Client, &corev1.SecretList{}, "argocd", clientSecret)
		leave(t, c)
		must(t, env.Wait(fleetContext(t), "both to be seen going", func(context.Context) (bool, string) {
			order.mu.Lock()
			defer order.mu.Unlock()
			return len(order.seen) == 2, fmt.Sprint(order.seen)
		}))
		if got := strings.Join(order.seen, " "); got != agentName+" "+clientSecret {
			t.Errorf("the order is %s", got)
		}
		left(t, c)
		if !exists(t, c.Client, "argocd", "stays", &argocd.Application{}) || !exists(t, c.Client, "", "argocd", &corev1.Namespace{}) {
			t.Error("an Application or the namespace went along")
		}
	})
}

// left checks that nothing of the agent is left.
func left(t *testing.T, c *env.Cluster) {
	t.Helper()
	for name, o := range map[string]client.Object{
		agentName: &appsv1.Deployment{}, clientSecret: &corev1.Secret{}, "argocd-agent-ca": &corev1.Secret{}, "argocd-agent-params": &corev1.ConfigMap{},
	} {
		if exists(t, c.Client, "argocd", name, o) {
			t.Errorf("%T %s is still on the managed cluster", o, name)
		}
	}
	for _, o := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}} {
		if exists(t, c.Client, "argocd", addOnName, o) {
			t.Errorf("%T %s is still on the managed cluster", o, addOnName)
		}
	}
	for _, o := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
		if exists(t, c.Client, "", addOnName, o) {
			t.Errorf("%T %s is still on the managed cluster", o, addOnName)
		}
	}
	for _, name := range []string{addOnName, addOnName + "-leaving"} {
		if exists(t, hub, c.Name, name, &workv1.ManifestWork{}) {
			t.Errorf("ManifestWork %s is still on the hub", name)
		}
	}
	if exists(t, hub, c.Name, addOnName, &addonv1alpha1.ManagedClusterAddOn{}) {
		t.Error("the add-on is still on the hub")
	}
}
