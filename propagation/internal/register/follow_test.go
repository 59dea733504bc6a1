// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestSecret_followsTheCluster(t *testing.T) {
	a := newArgo(t)
	a.start(nil)
	name := unique("c")
	cluster := a.cluster(name, map[string]string{"region": "eu", "argocd.argoproj.io/secret-type": "repository"})

	secret := a.registered(name, nil)
	want := map[string]string{
		"region":                         "eu",
		"argocd.argoproj.io/secret-type": "cluster",
		"apps.open-cluster-management.io/acm-cluster":  "true",
		"apps.open-cluster-management.io/cluster-name": name,
	}
	if diff := cmp.Diff(want, secret.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]byte{"name": []byte(name), "server": []byte("https://" + name + "-control-plane:6443")}, secret.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}

	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{"tier": "prod"} })
	a.registered(name, func(s *corev1.Secret) error {
		if s.Labels["tier"] != "prod" || s.Labels["region"] != "" || len(s.Labels) != 4 {
			return fmt.Errorf("labels are %v", s.Labels)
		}
		return nil
	})

	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	a.absent(name)
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = true })
	a.registered(name, nil)
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels["local-cluster"] = "true" })
	a.absent(name)
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { delete(c.Labels, "local-cluster") })
	a.registered(name, nil)
	if err := hub.client.Delete(context.Background(), cluster); err != nil {
		t.Fatal(err)
	}
	a.absent(name)
}

// A cluster that is being deleted may keep finalizers for a long time. Its Secret is deleted at once, so that
// Argo CD generates no Applications for it.
func TestSecret_isRemovedOnceItsClusterTerminates(t *testing.T) {
	a := newArgo(t)
	a.start(nil)
	name := unique("c")
	cluster := a.cluster(name, nil)
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = []string{"test.example.com/hold"} })
	a.registered(name, nil)
	if err := hub.client.Delete(context.Background(), cluster); err != nil {
		t.Fatal(err)
	}
	a.absent(name)
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = nil })
}

// A start corrects changes from the time without propagation, and writes nothing to an unchanged hub.
func TestRestart_writesOnlyWhatHasChanged(t *testing.T) {
	a := newArgo(t)
	_, stop := a.start(nil)
	stays, goes := unique("c"), unique("c")
	a.cluster(stays, map[string]string{"region": "eu"})
	gone := a.cluster(goes, nil)
	a.registered(stays, nil)
	a.registered(goes, nil)

	stop()
	if err := hub.client.Delete(context.Background(), gone); err != nil {
		t.Fatal(err)
	}
	_, stop = a.start(nil)
	a.absent(goes)
	stop()

	before := a.registered(stays, nil)
	writes, _ := a.start(nil)
	probe := unique("c") // once its Secret exists, the first list is processed
	a.cluster(probe, nil)
	a.registered(probe, nil)
	if n := writes.Load(); n != 1 {
		t.Errorf("a settled hub was written to: %d requests beside the new Secret", n-1)
	}
	if after := a.registered(stays, nil); after.ResourceVersion != before.ResourceVersion {
		t.Error("the Secret was rewritten")
	}
}
