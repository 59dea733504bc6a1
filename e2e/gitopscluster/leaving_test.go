// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// departures records deletions. All API servers of the fleet store their objects in one etcd, so that
// resource versions give the order across clusters.
type departures struct {
	mu   sync.Mutex
	seen []departure
}

type departure struct {
	what    string
	version uint64
}

func (d *departures) watch(t *testing.T, c client.WithWatch, what string, list client.ObjectList, namespace, name string) {
	t.Helper()
	w, err := c.Watch(t.Context(), list, client.InNamespace(namespace))
	must(t, err)
	t.Cleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			o, ok := e.Object.(client.Object)
			if !ok || e.Type != watch.Deleted || o.GetName() != name {
				continue
			}
			version, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
			d.mu.Lock()
			d.seen = append(d.seen, departure{what, version})
			d.mu.Unlock()
		}
	}()
}

// await waits for n deletions and returns them in their order.
func (d *departures) await(t *testing.T, n int) (order []string) {
	t.Helper()
	must(t, env.Wait(fleetContext(t), fmt.Sprintf("%d to be seen going", n), func(context.Context) (bool, string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.seen) >= n, fmt.Sprint(d.seen)
	}))
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortFunc(d.seen, func(a, b departure) int { return cmp.Compare(a.version, b.version) })
	for _, each := range d.seen {
		order = append(order, each.what)
	}
	return order
}

// When a cluster leaves, the agent is deleted first, then its key. gitopscluster checks that the key is gone.
// The cluster Secret is deleted last. An Application and the namespace stay.
func TestLeaving_deletesTheAgentBeforeItsKey(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		stays := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "stays"}}
		stays.Spec = []byte(`{"project":"default","source":{"repoURL":"https://git.example.com/none.git","path":"."},"destination":{"server":"https://kubernetes.default.svc","namespace":"default"}}`)
		must(t, c.Client.Create(t.Context(), stays))
		t.Cleanup(func() {
			if err := c.Client.Delete(context.WithoutCancel(t.Context()), stays); err != nil {
				t.Error(err)
			}
		})
		var d departures
		d.watch(t, c.Client, "agent", &appsv1.DeploymentList{}, env.ArgoCDNamespace, agentName)
		d.watch(t, hub, "work", &workv1.ManifestWorkList{}, c.Name, addOnName)
		d.watch(t, hub, "add-on", &addonv1alpha1.ManagedClusterAddOnList{}, c.Name, addOnName)
		d.watch(t, c.Client, "key", &corev1.SecretList{}, env.ArgoCDNamespace, clientSecret)
		d.watch(t, hub, "look", &workv1.ManifestWorkList{}, c.Name, addOnName+"-leaving")
		d.watch(t, hub, "registration", &corev1.SecretList{}, env.ArgoCDNamespace, clusterSecret(c))
		leave(t, c)
		if order := d.await(t, 6); !slices.Equal(order, []string{"agent", "work", "add-on", "key", "look", "registration"}) {
			t.Errorf("the order is %q", order)
		}
		left(t, c)
		if !exists(t, c.Client, env.ArgoCDNamespace, "stays", &argocd.Application{}) || !exists(t, c.Client, "", env.ArgoCDNamespace, &corev1.Namespace{}) {
			t.Error("an Application or the namespace went along")
		}
	})
}

// While a client key remains, the cluster does not leave, also across a restart of gitopscluster. The status
// reports which Secret has to be removed. Without the registration agent the user has to remove it.
func TestLeaving_waitsForTheKey(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		registration, err := fleet.Processes.Get(c.Name + "-registration-agent")
		must(t, err)
		must(t, registration.Stop(t.Context()))
		t.Cleanup(func() {
			if err := registration.Start(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		selects(t, c, "")
		waits := func(s said) bool {
			return slices.ContainsFunc(s.Leaving, func(w wait) bool {
				return w.Cluster == c.Name && strings.Contains(w.For, "to remove Secret "+clientSecret)
			})
		}
		await(t, "the wait for the key", example, waits)
		p := program(t)
		must(t, p.Stop(t.Context()))
		must(t, hub.Status().Patch(t.Context(), gitopsCluster(example, "v1beta1"), client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))))
		must(t, p.Start(t.Context()))
		await(t, "the wait for the key, after a restart", example, waits)
		if !exists(t, hub, env.ArgoCDNamespace, clusterSecret(c), &corev1.Secret{}) || len(keyPair(t, c).Data["tls.key"]) == 0 {
			t.Error("the cluster has left, or its key has gone")
		}
		loseKey(t, c)
		leave(t, c)
		left(t, c)
	})
}

// A deleted GitOpsCluster stays until every cluster has left in the same way. Then the principal's
// certificates are deleted as well.
func TestDeletion_waitsForEveryCluster(t *testing.T) {
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	must(t, hub.Delete(t.Context(), gitopsCluster(example, "v1alpha1")))
	await(t, "the deletion", example, func(s said) bool {
		return s.is("Ready", metav1.ConditionFalse, "Deleting") && len(s.Leaving) > 0 && s.is("Leaving", metav1.ConditionTrue, "AgentLeaving")
	})
	gone(t, example)
	for _, c := range fleet.Managed {
		left(t, c)
		if exists(t, hub, env.ArgoCDNamespace, clusterSecret(c), &corev1.Secret{}) {
			t.Errorf("Secret %s is still there", clusterSecret(c))
		}
	}
	for name, namespace := range map[string]string{
		"argocd-agent-ca": env.ArgoCDNamespace, "argocd-agent-principal-tls": env.ArgoCDNamespace, "argocd-agent-resource-proxy-tls": env.ArgoCDNamespace, "argocd-agent-jwt": env.ArgoCDNamespace,
		"argocd-agent-ca-" + env.ArgoCDNamespace: env.ProductNamespace,
	} {
		must(t, env.Wait(fleetContext(t), "the end of Secret "+name, func(context.Context) (bool, string) {
			return !exists(t, hub, namespace, name, &corev1.Secret{}), "it is there"
		}))
	}
}

// gone waits until a GitOpsCluster does not exist.
func gone(t *testing.T, name string) {
	t.Helper()
	must(t, env.Wait(fleetContext(t), "the end of GitOpsCluster "+name, func(ctx context.Context) (bool, string) {
		s, err := statusOf(ctx, name, "v1beta1")
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, s)
	}))
}

// left checks that no object of the agent exists.
func left(t *testing.T, c *env.Cluster) {
	t.Helper()
	for name, o := range map[string]client.Object{
		agentName: &appsv1.Deployment{}, clientSecret: &corev1.Secret{}, "argocd-agent-ca": &corev1.Secret{}, "argocd-agent-params": &corev1.ConfigMap{},
	} {
		if exists(t, c.Client, env.ArgoCDNamespace, name, o) {
			t.Errorf("%T %s is still on the managed cluster", o, name)
		}
	}
	for _, o := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}} {
		if exists(t, c.Client, env.ArgoCDNamespace, addOnName, o) {
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
