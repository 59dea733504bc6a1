// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applying has an agent apply whatever comes to a cluster until the test ends, or stop is
// called.
func applying(t *testing.T, cluster string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			var list workv1.ManifestWorkList
			_ = hub.client.List(ctx, &list, client.InNamespace(cluster)) // again at the next look
			for i := range list.Items {
				if w := &list.Items[i]; w.DeletionTimestamp == nil && appliedAt(w) == "" {
					_ = tryAnswer(client.ObjectKeyFromObject(w), metav1.ConditionTrue, metav1.ConditionTrue, "", nil) // again at the next look
				}
			}
			return false, nil
		})
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// appliedAt returns the status of the condition Applied at a work's generation, empty while
// its agent has not reported on that.
func appliedAt(work *workv1.ManifestWork) metav1.ConditionStatus {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration < work.Generation {
		return ""
	}
	return c.Status
}
