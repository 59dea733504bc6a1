// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/status"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A restart writes nothing if no cluster changed, even if the directory of intermediate reports is empty.
func TestRestart_writesNothing(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	first := start(t, &tap{}, "--intermediate-dir="+dir)
	a := w.lone("guestbook")
	degraded := healthy()
	degraded["healthStatus"] = "Degraded"
	degraded["operationStatePhase"] = "Failed"
	w.report(a, degraded)
	w.must(intermediate.NewStore(dir).Write(&intermediate.Report{
		Namespace: w.namespace, Name: "guestbook", Applications: []intermediate.Application{{
			Cluster: a.cluster, Namespace: w.namespace, Name: a.name,
			Resources:  []intermediate.Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}},
			Conditions: []intermediate.Condition{{Type: "OperationError", Message: "no such namespace"}},
		}},
	}))
	w.row("guestbook", "Degraded Synced OperationError")
	b := app{"other", "other-app", w.cluster("cluster2", metav1.ConditionFalse)}
	w.applicationSet("other")
	w.deliver(b)
	w.report(b, healthy())
	w.row("other", "Unknown Unknown ClusterUnreachable")
	testkit.Eventually(t, "everything in the reports", func() error {
		guestbook, err := w.read("guestbook")
		if err != nil {
			return err
		}
		if len(guestbook.Statuses.Resources) != 1 {
			return fmt.Errorf("resources %v", guestbook.Statuses.Resources)
		}
		other, err := w.read("other")
		if err != nil {
			return err
		}
		if said := other.Statuses.ClusterConditions[0].Conditions[0].Message; !strings.Contains(said, status.LastReport) {
			return fmt.Errorf("the cluster has not reported: %s", said)
		}
		return nil
	})
	first.end(t)
	before, err := w.read("guestbook")
	w.must(err)

	again := &tap{}
	start(t, again, "--intermediate-dir="+t.TempDir())
	w.passed()
	for _, name := range []string{"guestbook", "other"} {
		if writes := again.writesOf(w.namespace, name); len(writes) > 0 {
			t.Errorf("a restart wrote %v", writes)
		}
	}
	after, err := w.read("guestbook")
	w.must(err)
	if before.ResourceVersion != after.ResourceVersion {
		t.Errorf("the report changed from version %s to %s", before.ResourceVersion, after.ResourceVersion)
	}

	w.report(a, healthy())
	w.row("guestbook", "Healthy Synced") // new feedback replaces the rows of the old report
	after, err = w.read("guestbook")
	w.must(err)
	if len(after.Statuses.Resources) != 1 {
		t.Errorf("resources %v: without an intermediate report the known ones stay", after.Statuses.Resources)
	}
}
