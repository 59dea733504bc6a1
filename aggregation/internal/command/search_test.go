// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// If one managed cluster reports a megabyte of feedback, the rows of the other clusters stay in the report.
func TestReport_keepsOtherRowsNextToHugeFeedback(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.applicationSet("guestbook")
	for _, c := range []string{"a-hostile", "b", "c", "d"} {
		a := app{"guestbook", "app-" + c, w.cluster(c, metav1.ConditionTrue)}
		w.deliver(a)
		v := healthy()
		if c == "a-hostile" {
			v[contract.FeedbackSyncRevision] = strings.Repeat("x", 1100<<10)
		}
		w.report(a, v)
	}
	w.shows("guestbook", "with the rows of the others", func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		if n := len(r.Statuses.ClusterConditions); n < 3 || r.Statuses.Summary.Healthy != "4" {
			return fmt.Errorf("%d rows, summary %+v", n, r.Statuses.Summary)
		}
		return nil
	})
}

// A new pod has an empty directory, and search may first answer for some clusters only. The report keeps
// the content of the others.
func TestRestart_keepsWhatSearchHasNotAnswered(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	first := start(t, &tap{}, "--intermediate-dir="+dir)
	w.applicationSet("guestbook")
	var both []intermediate.Application
	for _, name := range []string{"c1", "c2"} {
		a := app{"guestbook", "app-" + name, w.cluster(name, metav1.ConditionTrue)}
		w.deliver(a)
		w.report(a, values{contract.FeedbackHealthStatus: "Degraded", contract.FeedbackSyncStatus: "Synced"})
		both = append(both, intermediate.Application{
			Cluster: a.cluster, Namespace: w.namespace, Name: a.name,
			Resources:  []intermediate.Resource{{APIVersion: "v1", Kind: "ConfigMap", Name: name}},
			Conditions: []intermediate.Condition{{Type: "OperationError", Message: "quota exceeded on " + name}},
		})
	}
	file := func(of []intermediate.Application, unread ...string) *intermediate.Report {
		return &intermediate.Report{Namespace: w.namespace, Name: "guestbook", Applications: of, UnreadClusters: unread}
	}
	content := func(want ...string) func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		return func(r *v1alpha1.MulticlusterApplicationSetReport) error {
			var got []string
			for _, c := range r.Statuses.Resources {
				got = append(got, c.Name)
			}
			for _, row := range r.Statuses.ClusterConditions {
				if row.HealthStatus != "Degraded" {
					return fmt.Errorf("%s is %s: its cluster's report is not in yet", row.Cluster, row.HealthStatus)
				}
				for _, c := range row.Conditions {
					got = append(got, c.Message)
				}
			}
			if strings.Join(got, ", ") != strings.Join(want, ", ") {
				return fmt.Errorf("it says %v", got)
			}
			return nil
		}
	}
	w.must(intermediate.NewStore(dir).Write(file(both)))
	w.shows("guestbook", "complete", content("c1", "c2", "quota exceeded on c1", "quota exceeded on c2"))
	first.end(t)

	through := &tap{}
	dir = t.TempDir()
	store := intermediate.NewStore(dir)
	w.must(store.Write(file(both[:1], both[1].Cluster)))
	start(t, through, "--intermediate-dir="+dir)
	w.passed()
	w.shows("guestbook", "still complete", content("c1", "c2", "quota exceeded on c1", "quota exceeded on c2"))
	if writes := through.writesOf(w.namespace, "guestbook"); len(writes) > 0 {
		t.Errorf("a restart wrote %v", writes)
	}
	w.must(store.Write(file(nil)))
	w.shows("guestbook", "empty, once search has answered for all", content())
}
