// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// step is a pod that replaces the pod before it. Each container is of the previous release, or of this
// checkout if its field is now.
type step struct {
	reason                                 string
	propagation, resourcesync, aggregation bool
}

const now = true

// steps let each container run with each of the others in the other version, newer and older than itself.
var steps = []step{
	{"resourcesync writes a newer schema, and an older aggregation keeps the resources that it knows", false, now, false},
	{"aggregation follows, and reads an older propagation's works", false, now, now},
	{"propagation follows: all of it is upgraded", now, now, now},
	{"resourcesync goes back, under a newer aggregation", now, false, now},
	{"aggregation goes back, and reads a newer propagation's works", now, false, false},
	{"propagation goes back: all of it is as it was", false, false, false},
}

// readsFiles reports whether aggregation can read resourcesync's files. It cannot read the schema of a newer
// version (see docs/upgrade.md).
func (s step) readsFiles() bool { return s.aggregation || !s.resourcesync }

func (s step) sources() map[string]string {
	of := map[bool]string{false: release.Root, now: testkit.Root()}
	return map[string]string{env.Propagation: of[s.propagation], env.ResourceSync: of[s.resourcesync], env.Aggregation: of[s.aggregation]}
}

// The product is upgraded from the previous release to this checkout and back, container by container. As in
// a Deployment, the next pod is ready before the last one ends. Throughout, one group of clusters waits for
// another in a rollout. Each step requests an operation, which must run once.
func TestUpgrade_runsEachOperationOnceInBothDirections(t *testing.T) {
	deliver(t)
	rolling := startRollout(t)
	w := watch(t)

	install(t, testkit.Root())
	for i, s := range steps {
		t.Logf("%d: %s", i+1, s.reason)
		resume := operate(t)
		if err := fleet.Product.StartPod(t.Context(), i+1, s.sources()); err != nil {
			t.Fatal(err)
		}
		if err := fleet.Product.StopPod(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		resume()
		awaitOperation(t, i+1)
		awaitCommit(t, i+1, s.readsFiles())
		rolling.stands(t)
	}
	install(t, release.Root)

	w.check(t)
	rolling.goesOn(t)
}

// install applies the manifests of a checkout before its pod starts.
func install(t *testing.T, root string) {
	t.Helper()
	if err := fleet.Hub.Install(t.Context(), root); err != nil {
		t.Fatal(err)
	}
}
