// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// A managed cluster may write its ManagedCluster. The cache keeps the fields that are read.
func TestTrimCluster_keepsWhatIsRead(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	labels := map[string]string{"example.com/region": "eu"}
	is := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster1", UID: "u", ResourceVersion: "7", Labels: labels, Annotations: map[string]string{
			"example.com/note": long, clusterv1.ClusterImageRegistriesAnnotationKey: "{}",
		}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: long}}},
		Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true, ManagedClusterClientConfigs: []clusterv1.ClientConfig{{URL: long}}},
		Status: clusterv1.ManagedClusterStatus{
			Conditions: []metav1.Condition{
				{Type: "Example", Message: long},
				{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown, Reason: "Gone", Message: "no Lease"},
			},
			ClusterClaims: []clusterv1.ManagedClusterClaim{{Name: "example.com/claim", Value: long}},
		},
	}
	want := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster1", UID: "u", ResourceVersion: "7", Labels: labels, Annotations: map[string]string{
			clusterv1.ClusterImageRegistriesAnnotationKey: "{}",
		}},
		Spec:   clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
		Status: clusterv1.ManagedClusterStatus{Conditions: is.Status.Conditions[1:]},
	}
	transform := Caches("argocd")
	for o, by := range transform {
		if _, ok := o.(*clusterv1.ManagedCluster); !ok {
			continue
		}
		kept, err := by.Transform(is)
		if diff := cmp.Diff(any(want), kept); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		return
	}
	t.Error("the cache has whole ManagedClusters")
}
