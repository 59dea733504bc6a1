// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestReport_showsUnknownForAnUnavailableCluster(t *testing.T) {
	w := newWorld(t)
	odd := w.cluster("odd", metav1.ConditionTrue)
	testkit.WriteUnreadableStatus(t, hub, "cluster.open-cluster-management.io/v1", "ManagedCluster", client.ObjectKey{Name: odd}) // hides no other cluster
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	w.cluster("cluster1", metav1.ConditionUnknown)
	w.row("guestbook", "Unknown Unknown ClusterUnreachable")
	w.cluster("cluster1", metav1.ConditionTrue)
	w.row("guestbook", "Healthy Synced")
}
