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

// The hub releases an Application and its cluster keeps all of it. The Argo CD there continues with
// it by itself, and nothing of Open Cluster Management owns it. No pod restarts, neither then nor
// when the hub takes it over again.
func TestHandOver(t *testing.T) {
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

	// Annotated and deleted in one breath: the agent has to be waited for.
	patch(t, a, fmt.Sprintf(`{"metadata":{"annotations":{%q:"orphan"}}}`, contract.DeletionPolicyAnnotation))
	if err := remove(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	awaitNoWork(t, cluster, name)
	same("handed over,")
	await(t, "nobody to own it", func() (bool, string) {
		there := managed(t, cluster, name)
		return len(there.OwnerReferences) == 0 && there.DeletionTimestamp == nil, fmt.Sprint(there.OwnerReferences)
	})

	// The Argo CD of the cluster goes on by itself.
	more := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
	if _, err := fleet.Git.Commit(t.Context(), "Go on", map[string]string{name + "/more.yaml": more}); err != nil {
		t.Fatal(err)
	}
	await(t, "the cluster's own Argo CD to go on", func() (bool, string) {
		return configMapIsThere(t, cluster, name), "no ConfigMap"
	})
	same("gone on with,")

	// And back.
	createWith(t, name, cluster, hubSpec, nil)
	awaitWell(t, "hub", name)
	await(t, "the agent to own it again", func() (bool, string) {
		there := managed(t, cluster, name)
		return len(there.OwnerReferences) == 1 && there.Namespace == env.ArgoCDNamespace && there.Finalizers[0] == argocd.ResourcesFinalizer, fmt.Sprint(there.OwnerReferences)
	})
	same("taken back,")
}
