// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// One cluster writes values that the API server admits and Go's types cannot hold. The cache stays up to date
// for the others, in a running process and in a new one. The fields of that cluster count as empty.
func TestManagedClusters_oneHidesNoOther(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cluster := func(name string) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	}
	for _, name := range []string{"odd", "late", "good"} {
		must(direct.Create(ctx, cluster(name)))
	}
	source, err := ManagedClusters(config)
	must(err)
	running := clusters(t, scheme, source)
	testkit.WriteUnreadableStatus(t, direct, clusterv1.GroupVersion.String(), "ManagedCluster", client.ObjectKey{Name: "odd"})
	must(direct.Patch(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": clusterv1.GroupVersion.String(), "kind": "ManagedCluster", "metadata": map[string]any{"name": "late"}}}, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"taints":[{"key":"k","effect":"NoSelect","timeAdded":"2026-01-01t00:00:00Z"}]}}`))))
	must(direct.Status().Patch(ctx, cluster("good"), client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"ManagedClusterConditionAvailable","status":"True","reason":"r","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))))

	if err := direct.Get(ctx, client.ObjectKey{Name: "odd"}, &clusterv1.ManagedCluster{}); err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Fatalf("Go's type holds the value now, or the API server refuses it: %v", err)
	}
	for name, c := range map[string]cache.Cache{"a running cache": running, "a new cache": clusters(t, scheme, source)} {
		testkit.Eventually(t, name, func() error {
			for cluster, want := range map[string]string{"odd": "0 conditions, accepted true", "late": "0 conditions, accepted true", "good": "1 conditions, accepted true"} {
				o := &clusterv1.ManagedCluster{}
				if err := c.Get(ctx, client.ObjectKey{Name: cluster}, o); err != nil {
					return err
				}
				if got := fmt.Sprintf("%d conditions, accepted %v", len(o.Status.Conditions), o.Spec.HubAcceptsClient); got != want {
					return fmt.Errorf("%s has %s, want %s", cluster, got, want)
				}
			}
			return nil
		})
	}
	for name, want := range map[string]bool{"odd": true, "late": true, "good": true, "none": false} {
		o := &clusterv1.ManagedCluster{}
		if err := Reader(direct).Get(ctx, client.ObjectKey{Name: name}, o); apierrors.IsNotFound(err) == want || o.Spec.HubAcceptsClient != want {
			t.Errorf("Reader returns %s with accepted %v, %v", name, o.Spec.HubAcceptsClient, err)
		}
	}
}

func clusters(t *testing.T, scheme *runtime.Scheme, source Source) cache.Cache {
	t.Helper()
	c, err := cache.New(config, cache.Options{Scheme: scheme, NewInformer: Informers(source)})
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, &clusterv1.ManagedCluster{})
	return c
}
