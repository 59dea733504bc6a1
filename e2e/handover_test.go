// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The hub releases an Application, and its cluster keeps the Application and the workload. The cluster's Argo
// CD continues to sync it, and no object of Open Cluster Management owns it. No pod restarts, neither at the
// release nor when the hub takes the Application over again.
func TestHandOver_keepsTheWorkload(t *testing.T) {
	alongside(t)
	onEachCluster(t, handOver)
}

func handOver(t *testing.T, cluster string) {
	t.Helper()
	name := "handed-" + cluster
	hubSpec := spec(t, name, true)
	files := map[string]string{name + "/config.yaml": strings.ReplaceAll(survivor, "NAME", name)}
	if _, err := fleet.Git.Commit(t.Context(), "Hand over", files); err != nil {
		t.Fatal(err)
	}
	a := createWith(t, name, cluster, hubSpec, nil)
	await(t, "the Deployment and its pods to be there", func() (bool, string) {
		found := running(t, cluster, name)
		return len(found) == 4, fmt.Sprint(found)
	})
	awaitWell(t, "hub", name)
	before := running(t, cluster, name)
	same := func(when string) {
		t.Helper()
		if after := running(t, cluster, name); !maps.Equal(before, after) {
			t.Fatalf("%s what runs has changed from %v to %v", when, before, after)
		}
	}

	// The deletion follows the annotation at once, so propagation has to wait for the agent.
	patch(t, a, fmt.Sprintf(`{"metadata":{"annotations":{%q:"orphan"}}}`, contract.DeletionPolicyAnnotation))
	if err := remove(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	awaitNoWork(t, cluster, name)
	same("handed over,")
	await(t, "nobody to own it", func() (bool, string) {
		existing := managed(t, cluster, name)
		return len(existing.OwnerReferences) == 0 && existing.DeletionTimestamp == nil, fmt.Sprint(existing.OwnerReferences)
	})

	// The cluster's Argo CD syncs a new commit without the hub.
	more := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
	if _, err := fleet.Git.Commit(t.Context(), "Go on", map[string]string{name + "/more.yaml": more}); err != nil {
		t.Fatal(err)
	}
	await(t, "the cluster's own Argo CD to go on", func() (bool, string) {
		return configMapExists(t, cluster, name), "no ConfigMap"
	})
	same("gone on with,")

	// The hub takes the Application over again.
	createWith(t, name, cluster, hubSpec, nil)
	awaitWell(t, "hub", name)
	await(t, "the agent to own it again", func() (bool, string) {
		existing := managed(t, cluster, name)
		return len(existing.OwnerReferences) == 1 && existing.Namespace == env.ArgoCDNamespace && existing.Finalizers[0] == argocd.ResourcesFinalizer, fmt.Sprint(existing.OwnerReferences)
	})
	same("taken back,")
}
