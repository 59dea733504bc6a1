// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

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
	awaitStatus(t, app, "Unknown/Unknown@")
	_, before := measured(t)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
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
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
	expect(1, before+1) // a lost cluster is no feedback
	available(t, cluster, metav1.ConditionTrue)
	expect(0, before+1)
}

// oldestComparison returns the metric in seconds.
func oldestComparison(t *testing.T) (seconds float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "propagation_comparison_oldest_seconds" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("the metric does not exist")
	return 0
}

// The metric shows that an available cluster reports no comparison, and begins anew with the next one. An
// update of the work without a comparison does not count, because the agent lives and Argo CD may not.
func TestMetrics_showTheOldestComparison(t *testing.T) {
	f := newFleet(t)
	start(t, Options{CompareGrace: time.Millisecond}, nil)
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	work := f.work(app, cluster.Name)
	awaitStatus(t, app, "Unknown/Unknown@")

	var passed atomic.Int64
	clock := comparing.Load()
	clock.mu.Lock()
	clock.now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	clock.mu.Unlock()
	expect := func(what string, old bool) {
		t.Helper()
		testkit.Eventually(t, what, func() error {
			if s := oldestComparison(t); s >= time.Hour.Seconds() != old {
				return fmt.Errorf("the oldest comparison is %v s old", s)
			}
			return nil
		})
	}
	passed.Add(int64(2 * time.Hour))
	if s := oldestComparison(t); s != 0 {
		t.Errorf("a cluster without a comparison counts with %v s", s)
	}
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	expect("the first comparison", false)

	passed.Add(int64(2 * time.Hour))
	expect("the age of an old comparison", true)
	report(t, work, append(healthy, "healthMessage", "m", "reconciledAt", "2036-11-20T09:40:00Z")...)
	testkit.Eventually(t, "the health message", func() error {
		if s := statusOf(t, app); s.Health.Message != "m" {
			return errNot(s)
		}
		return nil
	})
	expect("the age of the same comparison", true)
	available(t, cluster, metav1.ConditionUnknown)
	expect("no age for an unavailable cluster", false)
	available(t, cluster, metav1.ConditionTrue)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	passed.Add(int64(2 * time.Hour))
	expect("an age since the cluster has returned", true)
	report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:43:00Z")...)
	expect("the age of a new comparison", false)
}
