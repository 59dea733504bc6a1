// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// terminating is the patch that Argo CD's command line sends to terminate an operation.
const terminating = `{"status":{"operationState":{"phase":"Terminating"}}}`

// A user terminates on the hub an operation that runs on the managed cluster, with the same status phase that
// Argo CD's command line writes.
func TestOperation_isTerminatedFromTheHub(t *testing.T) {
	alongside(t)
	onEachCluster(t, terminate)
}

func terminate(t *testing.T, cluster string) {
	t.Helper()
	name := "terminate-" + cluster
	a := stuck(t, name, cluster)
	patch(t, a, terminating)
	awaitPhase(t, cluster, name, argocd.OperationFailed)
	awaitPhase(t, "hub", name, argocd.OperationFailed)
}

// stuck creates an Application with an operation that runs until a test terminates it. When stuck returns,
// the hub reports the operation as running, too.
func stuck(t *testing.T, name, cluster string) *argocd.Application {
	t.Helper()
	a := create(t, name, cluster, false)
	if _, err := fleet.Git.Commit(t.Context(), "Get stuck", map[string]string{name + "/config.yaml": scenario.NeverHealthy}); err != nil {
		t.Fatal(err)
	}
	patch(t, a, `{"operation":{"initiatedBy":{"username":"e2e"},"sync":{"revision":"main"}}}`)
	awaitPhase(t, "hub", name, argocd.OperationRunning)
	return a
}

func awaitPhase(t *testing.T, where, name, phase string) {
	t.Helper()
	await(t, "the operation of "+name+" to be "+phase+" on "+where, func() (bool, string) {
		a, _ := view.Application(where, name)
		return a.Phase == phase, a.String()
	})
}
