// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
)

// largeHub is the cache of a hub whose ApplicationSets select every decision.
type largeHub struct {
	client.Client
	decisions []clusterv1beta1.PlacementDecision
}

func (h *largeHub) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if set, ok := o.(*appset.ApplicationSet); ok {
		set.Selectors = []appset.Selector{{Labels: labels.Everything()}}
	}
	return nil
}

func (h *largeHub) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *clusterv1beta1.PlacementDecisionList:
		l.Items = h.decisions
	case *corev1.ConfigMapList:
		l.Items = []corev1.ConfigMap{*generatorConfig("argocd")}
	}
	return nil
}

// A selector with a template selects every decision. Several such ApplicationSets fit into the memory limit of the
// installation, with what the garbage collector needs in addition.
func TestState_ofTemplatesFitsIntoMemory(t *testing.T) {
	const sets, placements, clusters, most = 10, 100, 1000, 30 << 20
	h := &largeHub{}
	for p := range placements {
		for d := range clusters / 100 {
			decision := clusterv1beta1.PlacementDecision{}
			decision.Name, decision.Labels = fmt.Sprintf("p%d-decision-%d", p, d), map[string]string{clusterv1beta1.PlacementLabel: fmt.Sprint("p", p)}
			for c := range 100 {
				decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: clusterName(100*d + c)})
			}
			h.decisions = append(h.decisions, decision)
		}
	}
	r := newReconciler(h, []string{"argocd"})
	r.now = func() time.Time { return time.Unix(1_000_000, 0) }
	before := heap()
	for i := range sets {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "argocd", Name: fmt.Sprint("set", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if kept := heap() - before; kept > most {
		t.Errorf("%d ApplicationSets keep %d MiB, want at most %d", sets, kept>>20, most>>20)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(h)
}

// heap returns the size of the live objects.
func heap() int64 {
	runtime.GC()
	m := runtime.MemStats{}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
