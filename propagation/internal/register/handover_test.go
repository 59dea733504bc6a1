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

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// gitopsclusters writes the Secret of a cluster as gitopscluster does.
func (a *argo) gitopsclusters(cluster *clusterv1.ManagedCluster, want clustersecret.Desired) {
	a.t.Helper()
	step, err := clustersecret.Plan(nil, cluster, a.namespace, a.instanceLabel, want)
	if err == nil {
		err = step.Apply(context.Background(), hub.client)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// The registration adopts the Secrets of gitopscluster without a write, with any holders and also for an
// agent. After that, their labels follow the cluster.
func TestHandOver_writesNoSecretOfGitOpsClusters(t *testing.T) {
	a := newArgo(t)
	secrets := map[string]clustersecret.Desired{
		"registered for all": {Registered: true, Decided: true},
		"held":               {Registered: true, Decided: true, Holders: []string{"team/a", "team/b"}},
		"with an agent": {Registered: true, Decided: true, Holders: []string{"team/a"}, Agent: &clustersecret.Agent{
			Server: "https://proxy.argocd.svc:9090?agentName=c", Config: []byte(`{"tlsClientConfig":{}}`),
		}},
	}
	clusters, before := map[string]*clusterv1.ManagedCluster{}, map[string]*corev1.Secret{}
	for kind, want := range secrets {
		clusters[kind] = a.cluster(unique("c"), map[string]string{"region": "eu"})
		a.gitopsclusters(clusters[kind], want)
		before[kind] = a.registered(clusters[kind].Name, nil)
	}

	writes, _ := a.start(nil)
	probe := unique("c") // once its Secret exists, the first list is processed
	a.cluster(probe, nil)
	a.registered(probe, nil)
	for kind := range secrets {
		if after := a.registered(clusters[kind].Name, nil); after.UID != before[kind].UID || after.ResourceVersion != before[kind].ResourceVersion {
			t.Errorf("%s: the Secret was rewritten:\n%s", kind, cmp.Diff(before[kind], after))
		}
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("the hand-over made %d requests beside the new Secret", n-1)
	}

	for kind, cluster := range clusters {
		testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{"tier": "prod"} })
		after := a.registered(cluster.Name, func(s *corev1.Secret) error {
			if s.Labels["tier"] != "prod" || s.Labels["region"] != "" {
				return fmt.Errorf("labels are %v", s.Labels)
			}
			return nil
		})
		for _, key := range []string{contract.GitOpsClustersAnnotation, argocd.SkipReconcileAnnotation, contract.ConfigDigestAnnotation} {
			if after.Annotations[key] != before[kind].Annotations[key] {
				t.Errorf("%s: annotation %s is %q", kind, key, after.Annotations[key])
			}
		}
		if diff := cmp.Diff(before[kind].Data, after.Data); diff != "" || after.Labels[argocd.AgentNameLabel] != before[kind].Labels[argocd.AgentNameLabel] {
			t.Errorf("%s: the shape changed: %s", kind, diff)
		}
		testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
		a.absent(cluster.Name)
	}
}
