// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestMetadataFor(t *testing.T) {
	type m = map[string]string
	const own, theirs = "argocd.guestbook", "example.com/team"
	for name, test := range map[string]struct {
		why                     string
		labels, annotations     m
		rows, resources         int // left out
		wantLabels, wantRemarks m
		differs                 bool
	}{
		"as it should be": {
			why:    "then there is nothing to write",
			labels: m{contract.ReportLabel: own, theirs: "blue"}, annotations: m{theirs: "red"},
			wantLabels: m{contract.ReportLabel: own, theirs: "blue"}, wantRemarks: m{theirs: "red"},
		},
		"new": {
			why:        "a report is known by its label",
			wantLabels: m{contract.ReportLabel: own}, differs: true,
		},
		"another value of our label": {
			why:        "who looks for the ApplicationSet's report finds it by the value",
			labels:     m{contract.ReportLabel: "something.else", theirs: "blue"},
			wantLabels: m{contract.ReportLabel: own, theirs: "blue"}, differs: true,
		},
		"rows are left out": {
			why:    "a reader has to know that the list is not whole",
			labels: m{contract.ReportLabel: own}, annotations: m{theirs: "red"}, rows: 12, resources: 3,
			wantLabels:  m{contract.ReportLabel: own},
			wantRemarks: m{theirs: "red", contract.RowsLeftOutAnnotation: "12", contract.ResourcesLeftOutAnnotation: "3"}, differs: true,
		},
		"as many rows as before are left out": {
			why:    "it says so already",
			labels: m{contract.ReportLabel: own}, annotations: m{contract.RowsLeftOutAnnotation: "12"}, rows: 12,
			wantLabels: m{contract.ReportLabel: own}, wantRemarks: m{contract.RowsLeftOutAnnotation: "12"},
		},
		"everything fits again": {
			why:    "what no longer holds must not stay",
			labels: m{contract.ReportLabel: own}, annotations: m{contract.RowsLeftOutAnnotation: "12", contract.ResourcesLeftOutAnnotation: "3", theirs: "red"},
			wantLabels: m{contract.ReportLabel: own}, wantRemarks: m{theirs: "red"}, differs: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := metav1.ObjectMeta{
				Namespace: "argocd", Name: "guestbook", UID: "1", ResourceVersion: "2", Labels: test.labels, Annotations: test.annotations,
				Finalizers: []string{"example.com/theirs"}, OwnerReferences: []metav1.OwnerReference{{Name: "theirs"}},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			}
			before, want := *have.DeepCopy(), *have.DeepCopy()
			want.Labels, want.Annotations, want.ManagedFields = test.wantLabels, test.wantRemarks, nil
			content := &merge.Content{RowsLeftOut: test.rows, ResourcesLeftOut: test.resources}
			got, differs := metadataFor(types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, &have, content)
			if diff := cmp.Diff(want, got); diff != "" || differs != test.differs {
				t.Errorf("%s: differs %t, want %t; metadata (-want +got):\n%s", test.why, differs, test.differs, diff)
			}
			if diff := cmp.Diff(before, have); diff != "" {
				t.Errorf("the metadata that is shared changed:\n%s", diff)
			}
		})
	}
}

// A report leaves room for the metadata that the API server adds, and for the metadata of other clients.
func TestReport_leavesRoomForMetadata(t *testing.T) {
	const limit, room = 16 << 10, 1 << 10
	b := newBench(t)
	for i := range 200 {
		b.feedbackOf(fmt.Sprintf("app-%d", i), "Degraded")
	}
	b.limit = limit
	fits := func(when string, rows int) {
		t.Helper()
		data, err := json.Marshal(b.server.report)
		if got := len(b.server.report.Statuses.ClusterConditions); err != nil || len(data) > limit-room || got < rows {
			t.Errorf("%s it has %d bytes and %d rows (error %v); want at least %d within %d less %d", when, len(data), got, err, rows, limit, room)
		}
	}
	if err := b.create(t.Context(), guestbook, b.index.View(guestbook), pace.Batch{}); err != nil {
		t.Fatal(err)
	}
	fits("new", 40)
	b.server.report.Annotations["example.com/theirs"] = strings.Repeat("x", 6<<10)
	b.cacheCatchesUp()
	b.reconcile()
	fits("with a large annotation", 20)
}
