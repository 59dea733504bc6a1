// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package enqueue

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The controller reconciles requests that were added before its start. It reconciles a request that was
// added twice only once.
func TestAdd_keepsRequestsFromBeforeTheStart(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	early := reconcile.Request{NamespacedName: types.NamespacedName{Name: "early"}}
	late := reconcile.Request{NamespacedName: types.NamespacedName{Name: "late"}}
	q := &Queue{}
	q.Add(early, early)
	if err := q.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	q.Add(late)
	if n := queue.Len(); n != 2 {
		t.Fatalf("the queue has %d requests, want 2", n)
	}
	for _, want := range []reconcile.Request{early, late} {
		if got, _ := queue.Get(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
