// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// measured returns the number of lost clusters, and how often feedback was timed.
func measured(t *testing.T) (stale float64, timed uint64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch f.GetName() {
		case "propagation_clusters_stale":
			stale = f.GetMetric()[0].GetGauge().GetValue()
		case "propagation_feedback_seconds":
			timed = f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	return stale, timed
}

func TestMetrics_countUnreachableClustersAndFeedback(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	work := f.work(app, cluster.Name)
	says(t, app, "Unknown/Unknown@")
	_, before := measured(t)
	report(t, work, healthy...)
	says(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	expect := func(stale float64, timed uint64) {
		t.Helper()
		testkit.Eventually(t, "the metrics", func() error {
			if s, n := measured(t); s != stale || n != timed {
				return fmt.Errorf("%v lost clusters, %d times of feedback", s, n-before)
			}
			return nil
		})
	}
	expect(0, before+1)
	available(t, cluster, metav1.ConditionUnknown)
	says(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
	expect(1, before+1) // a lost cluster is no feedback
	available(t, cluster, metav1.ConditionTrue)
	expect(0, before+1)
}
