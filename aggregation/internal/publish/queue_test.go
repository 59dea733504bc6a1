// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
)

func report(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("set-%d", i)}
}

// What changed while nobody led comes before what was there, and so does what changes while
// the leader looks at that.
func TestLeaderBeginsWithWhatChanged(t *testing.T) {
	const reports, before, during = 20, 13, 7
	q := NewQueue(pace.Limits{})
	for i := range reports { // the first list
		q.Changed(report(i))
	}
	synced := q.forgetInitial(func(context.Context) error { return nil })
	if synced.(manager.LeaderElectionRunnable).NeedLeaderElection() {
		t.Error("a standby does not know when it has all that was there at start")
	}
	if err := synced.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.Changed(report(before))
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	q.open(queue)
	for i := range reports {
		q.enqueue(report(i), true)
	}
	q.enqueue(report(during), false)
	var order []string
	for range reports {
		request, _ := queue.Get()
		order = append(order, request.Name)
		queue.Done(request)
	}
	if diff := cmp.Diff([]string{"set-13", "set-7"}, order[:2]); diff != "" {
		t.Errorf("begun with (-want +got):\n%s", diff)
	}
	if got := q.lately.Take(); got != nil {
		t.Errorf("a leader still remembers %v", got)
	}
}
