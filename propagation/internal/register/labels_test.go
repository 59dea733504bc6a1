// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// tracked returns the labels of a ManagedCluster that Argo CD itself manages.
func tracked(more ...string) map[string]string {
	labels := map[string]string{
		"region": "eu", "app.kubernetes.io/instance": "fleet", "argocd.argoproj.io/instance": "fleet", "example.com/argo-app": "fleet",
	}
	for _, key := range more {
		labels[key] = "1"
	}
	return labels
}

// labelled waits until the Secret of a cluster has these labels and the registration's own.
func (a *argo) labelled(cluster string, want map[string]string) *corev1.Secret {
	a.t.Helper()
	want = maps.Clone(want)
	want["argocd.argoproj.io/secret-type"] = "cluster"
	want[contract.RegisteredLabel], want[contract.RegisteredNameLabel] = "true", cluster
	return a.registered(cluster, func(s *corev1.Secret) error {
		if diff := cmp.Diff(want, s.Labels); diff != "" {
			return fmt.Errorf("labels (-want +got):\n%s", diff)
		}
		return nil
	})
}

// The registration does not copy tracking labels. With the tracking label of its ManagedCluster, Argo CD
// would prune the Secret, and then every Application on that cluster.
func TestLabels_excludeTrackingLabels(t *testing.T) {
	a := newArgo(t)
	a.instanceLabel = "example.com/argo-app"
	_, stop := a.start(nil)
	name := unique("c")
	cluster := a.cluster(name, tracked())
	first := a.labelled(name, map[string]string{"region": "eu"})

	t.Run("updated", func(t *testing.T) {
		a := a.in(t)
		testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) {
			c.Labels = tracked("tier")
			c.Labels["argocd.argoproj.io/another"] = "fleet"
		})
		a.labelled(name, map[string]string{"region": "eu", "tier": "1"})
	})
	t.Run("restarted", func(t *testing.T) {
		stop()
		testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = tracked("zone") })
		a.start(nil)
		a.in(t).labelled(name, map[string]string{"region": "eu", "zone": "1"})
	})
	t.Run("recreated", func(t *testing.T) {
		a := a.in(t)
		if err := hub.client.Delete(context.Background(), first); err != nil {
			t.Fatal(err)
		}
		if s := a.labelled(name, map[string]string{"region": "eu", "zone": "1"}); s.UID == first.UID {
			t.Error("still the old one")
		}
	})
}

// An earlier version copied every label of the ManagedCluster into the Secret. The registration removes these
// tracking labels, and keeps labels that Argo CD has added itself.
func TestLabels_loseTrackingLabelsOfAnEarlierVersion(t *testing.T) {
	a := newArgo(t)
	a.instanceLabel = "example.com/argo-app"
	name := unique("c")
	a.cluster(name, tracked())
	labels := tracked("gone")
	labels["argocd.argoproj.io/kubernetes-version"] = "1.37"
	labels["argocd.argoproj.io/secret-type"] = "cluster"
	labels[contract.RegisteredLabel], labels[contract.RegisteredNameLabel] = "true", name
	a.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.namespace, Name: name + "-cluster-secret", Labels: labels,
			Annotations: map[string]string{contract.RegisteredByAnnotation: contract.RegisteredBy},
		},
		StringData: map[string]string{"name": name, "server": "https://" + name + "-control-plane:6443"},
	})
	writes, _ := a.start(nil)
	s := a.labelled(name, map[string]string{"region": "eu", "argocd.argoproj.io/kubernetes-version": "1.37"})
	if n := writes.Load(); n != 1 || s.Annotations[contract.CopiedLabelsAnnotation] != "region" {
		t.Errorf("%d writes, annotations %v", n, s.Annotations)
	}
}

// Labels and annotations of other writers stay on a Secret, over an update and over a restart. A tracking
// label stays, too.
func TestLabels_keepLabelsOfOtherWriters(t *testing.T) {
	a := newArgo(t)
	_, stop := a.start(nil)
	name := unique("c")
	cluster := a.cluster(name, map[string]string{"region": "eu", "tier": "prod"})
	secret := a.registered(name, nil)
	testkit.Edit(t, hub.client, secret, func(s *corev1.Secret) {
		s.Annotations["example.com/note"] = "kept"
		for key, value := range map[string]string{"extra": "1", "argocd.argoproj.io/kubernetes-version": "1.37", "app.kubernetes.io/instance": "secrets"} {
			s.Labels[key] = value
		}
	})
	others := map[string]string{"extra": "1", "argocd.argoproj.io/kubernetes-version": "1.37", "app.kubernetes.io/instance": "secrets"}
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{"region": "us"} })
	with := maps.Clone(others)
	with["region"] = "us"
	a.labelled(name, with)

	stop()
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = tracked() })
	a.start(nil)
	with["region"], with["example.com/argo-app"] = "eu", "fleet"
	s := a.labelled(name, with)
	if s.Annotations["example.com/note"] != "kept" {
		t.Errorf("annotations are %v", s.Annotations)
	}
}
