// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestReport_keepsItsSizeLimit(t *testing.T) {
	const limit, apps = 16 << 10, 120
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir(), fmt.Sprintf("--report-size-limit=%d", limit))
	w.applicationSet("guestbook")
	cluster := w.cluster("cluster1", metav1.ConditionTrue)
	for i := range apps {
		a := app{"guestbook", fmt.Sprintf("app-%03d", i), cluster}
		w.deliver(a)
		v := healthy()
		if i%4 == 0 {
			v["healthStatus"], v["conditionSyncError"] = "Degraded", strings.Repeat("x", 500)
		}
		w.report(a, v)
	}
	summary := v1alpha1.ReportSummary{Clusters: "1", Synced: "120", NotSynced: "0", Healthy: "90", NotHealthy: "30", InProgress: "0"}
	testkit.Eventually(t, "a report that counts all and holds what fits", func() error {
		r, err := w.read("guestbook")
		if err != nil {
			return err
		}
		if r.Statuses.Summary != summary {
			return fmt.Errorf("summary %+v", r.Statuses.Summary)
		}
		bad := 0
		for _, c := range r.Statuses.ClusterConditions {
			if c.HealthStatus == "Degraded" {
				bad++
			}
		}
		if bad != 30 {
			return fmt.Errorf("%d unhealthy rows of 30", bad)
		}
		left := fmt.Sprint(apps - len(r.Statuses.ClusterConditions))
		if said := r.Annotations[contract.RowsLeftOutAnnotation]; left == "0" || said != left {
			return fmt.Errorf("%s rows are left out, it says %q", left, said)
		}
		return nil
	})
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MulticlusterApplicationSetReport"))
	w.must(hub.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "guestbook"}, stored))
	data, err := json.Marshal(stored)
	w.must(err)
	if len(data) > limit {
		t.Errorf("the report has %d bytes of %d", len(data), limit)
	}

	w.must(hub.DeleteAllOf(t.Context(), &workv1.ManifestWork{}, client.InNamespace(cluster)))
	testkit.Eventually(t, "a report that is whole again", func() error {
		r, err := w.read("guestbook")
		if err != nil {
			return err
		}
		if _, says := r.Annotations[contract.RowsLeftOutAnnotation]; says || r.Statuses.Summary.Clusters != "0" {
			return errors.New("it is not")
		}
		return nil
	})
}
