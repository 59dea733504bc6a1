// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

func TestClusterOf(t *testing.T) {
	condition := func(status metav1.ConditionStatus) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{Status: clusterv1.ManagedClusterStatus{Conditions: []metav1.Condition{
			{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, LastTransitionTime: metav1.NewTime(lost), Message: "m"},
		}}}
	}
	cases := map[string]struct {
		reason  string
		cluster *clusterv1.ManagedCluster
		want    Cluster
	}{
		"gone":    {reason: "no ManagedCluster is not available", want: Cluster{Name: "c1"}},
		"joining": {reason: "no condition is not available", cluster: &clusterv1.ManagedCluster{}, want: Cluster{Name: "c1", Exists: true}},
		"true":    {reason: "True is available", cluster: condition(metav1.ConditionTrue), want: Cluster{Name: "c1", Exists: true, Available: true, Since: lost, Message: "m"}},
		"unknown": {reason: "Unknown is not available", cluster: condition(metav1.ConditionUnknown), want: Cluster{Name: "c1", Exists: true, Since: lost, Message: "m"}},
		"false":   {reason: "False is not available", cluster: condition(metav1.ConditionFalse), want: Cluster{Name: "c1", Exists: true, Since: lost, Message: "m"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ClusterOf("c1", c.cluster)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
