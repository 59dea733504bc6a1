// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// begun is the test that has begun, be it by a subtest.
var begun struct {
	mu   sync.Mutex
	test string
}

// begin removes what earlier tests have left, once for each test and before it starts
// anything: each start of delivery looks at all that the hub has.
func begin(t *testing.T) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	begun.mu.Lock()
	defer begun.mu.Unlock()
	if begun.test == test {
		return
	}
	begun.test = test
	for _, o := range []client.Object{
		&argocd.Application{}, argocd.ApplicationSetMetadata(), &argocd.AppProject{}, &workv1.ManifestWork{}, &clusterv1beta1.PlacementDecision{}, &clusterv1.ManagedCluster{},
	} {
		kind, err := hub.client.GroupVersionKindFor(o)
		if err != nil {
			t.Fatalf("remove what is left: %v", err)
		}
		removeAll(t, kind)
	}
}

// removeAll removes all objects of a kind, whatever their finalizers.
func removeAll(t *testing.T, kind schema.GroupVersionKind) {
	t.Helper()
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(kind)
	if err := hub.client.List(context.Background(), left); err != nil {
		t.Fatalf("list what is left of kind %s: %v", kind.Kind, err)
	}
	namespaces := map[string]bool{}
	for i := range left.Items {
		o := &left.Items[i]
		o.SetGroupVersionKind(kind)
		namespaces[o.Namespace] = true
		if len(o.Finalizers) == 0 {
			continue
		}
		err := hub.client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if client.IgnoreNotFound(err) != nil {
			t.Fatalf("take the finalizers off %s %s: %v", kind.Kind, o.Name, err)
		}
	}
	for namespace := range namespaces {
		all := &metav1.PartialObjectMetadata{}
		all.SetGroupVersionKind(kind)
		if err := hub.client.DeleteAllOf(context.Background(), all, client.InNamespace(namespace)); err != nil {
			t.Fatalf("remove what is left of kind %s in %q: %v", kind.Kind, namespace, err)
		}
	}
}
