// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/publish"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestRepair_undoesManualChanges(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")

	t.Run("content", func(t *testing.T) {
		r, err := w.read("guestbook")
		w.must(err)
		r.Statuses.ClusterConditions[0].HealthStatus = "Degraded"
		r.Statuses.Summary.Healthy = "99"
		r.Annotations = map[string]string{"theirs": "stays"}
		w.must(hub.Update(t.Context(), r))
		w.row("guestbook", "Healthy Synced")
		r, err = w.read("guestbook")
		w.must(err)
		if r.Statuses.Summary.Healthy != "1" || r.Annotations["theirs"] != "stays" {
			t.Errorf("summary %+v, annotations %v: want the summary repaired and foreign metadata kept", r.Statuses.Summary, r.Annotations)
		}
	})
	t.Run("rows out of order", func(t *testing.T) {
		r, err := w.read("guestbook")
		w.must(err)
		row := r.Statuses.ClusterConditions[0]
		row.Cluster = "zzz"
		r.Statuses.ClusterConditions = append([]v1alpha1.ClusterCondition{row}, r.Statuses.ClusterConditions...)
		w.must(hub.Update(t.Context(), r))
		w.row("guestbook", "Healthy Synced")
	})
	t.Run("rows that are none", func(t *testing.T) {
		for rows, refused := range map[string]bool{
			`"none"`: true, `{"cluster":"x"}`: true, `[1]`: true, // a single such report would break every list
			`[{"healthStatus":5}]`: false, `[{"conditions":{"type":"x"}}]`: false,
		} {
			report := publish.Metadata()
			report.Namespace, report.Name = w.namespace, "guestbook"
			err := hub.Patch(t.Context(), report, client.RawPatch(types.MergePatchType, []byte(`{"statuses":{"clusterConditions":`+rows+`}}`)))
			if apierrors.IsInvalid(err) != refused {
				t.Errorf("rows %s: error %v, want them refused: %t", rows, err, refused)
			}
			w.row("guestbook", "Healthy Synced")
		}
	})
	t.Run("label", func(t *testing.T) {
		r, err := w.read("guestbook")
		w.must(err)
		r.Labels[contract.ReportLabel] = "something.else"
		w.must(hub.Update(t.Context(), r))
		testkit.Eventually(t, "the label", func() error {
			r, err := w.read("guestbook")
			if label := r.Labels[contract.ReportLabel]; label != w.namespace+".guestbook" {
				return errors.Join(err, errors.New(label))
			}
			return nil
		})
	})
	t.Run("deleted", func(t *testing.T) {
		r, err := w.read("guestbook")
		w.must(err)
		w.must(hub.Delete(t.Context(), r))
		testkit.Eventually(t, "another report", func() error {
			again, err := w.read("guestbook")
			if err == nil && again.UID == r.UID {
				return errors.New("it is still the old one")
			}
			return err
		})
		w.row("guestbook", "Healthy Synced")
	})
}

// A write replaces the whole report. It must keep metadata that another client added after aggregation last
// read the report.
func TestRepair_keepsMetadataOfOthers(t *testing.T) {
	w := newWorld(t)
	through := &tap{}
	start(t, through, "--intermediate-dir="+t.TempDir())
	a := w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")

	var once sync.Once
	through.breakWith(func(r *http.Request) *http.Response {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, w.namespace+"/multiclusterapplicationsetreports/guestbook") {
			once.Do(func() {
				report := publish.Metadata()
				report.Namespace, report.Name = w.namespace, "guestbook"
				patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"theirs":"a"},"annotations":{"theirs":"b"},"finalizers":["example.com/theirs"]}}`))
				if err := hub.Patch(context.Background(), report, patch); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	})
	degraded := healthy()
	degraded[contract.FeedbackHealthStatus] = "Degraded"
	w.report(a, degraded)
	w.row("guestbook", "Degraded Synced")
	report, err := w.read("guestbook")
	w.must(err)
	if report.Labels["theirs"] != "a" || report.Annotations["theirs"] != "b" || !slices.Equal(report.Finalizers, []string{"example.com/theirs"}) {
		t.Errorf("labels %v, annotations %v, finalizers %v: want theirs kept", report.Labels, report.Annotations, report.Finalizers)
	}
	if n := len(through.writesOf(w.namespace, "guestbook")); n != 2 {
		t.Errorf("%d updates, want one that is refused and one that is not", n)
	}
	report.Finalizers = nil
	w.must(hub.Update(t.Context(), report))
}

// A report without aggregation's label and field manager belongs to another client, whatever its name. It
// counts only while its ApplicationSet exists, because without an ApplicationSet no report is missing.
func TestRepair_ignoresAForeignReport(t *testing.T) {
	w := newWorld(t)
	foreign := &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "guestbook"}}
	foreign.Statuses.Summary.Clusters = "theirs"
	w.must(hub.Create(t.Context(), foreign))
	orphan := &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "no-such-set"}}
	w.must(hub.Create(t.Context(), orphan))

	through := &tap{}
	start(t, through, "--intermediate-dir="+t.TempDir())
	a := w.lone("guestbook")
	w.passed()
	w.report(a, values{"healthStatus": "Degraded", "syncStatus": "Synced"})
	w.passed()
	counted := func(want float64) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("%v foreign reports counted", want), func() error {
			if n := gauge(t, "aggregation_reports_foreign"); n != want {
				return fmt.Errorf("%v", n)
			}
			return nil
		})
	}
	counted(1)
	w.applicationSet("no-such-set")
	counted(2) // the initial list is handled by now
	w.must(hub.Delete(t.Context(), w.applicationSetObject("no-such-set")))
	counted(1)
	for _, name := range []string{"guestbook", "no-such-set"} {
		if writes := through.writesOf(w.namespace, name); len(writes) > 0 {
			t.Errorf("a foreign report was written: %v", writes)
		}
	}
	if n := strings.Count(through.logged(), "aggregation does not change it"); n != 2 {
		t.Errorf("logged %d times that aggregation does not change a report, want once for each of the two:\n%s", n, through.logged())
	}

	metav1.SetMetaDataLabel(&foreign.ObjectMeta, contract.ReportLabel, w.namespace+".guestbook")
	w.must(hub.Update(t.Context(), foreign)) // given to us
	w.row("guestbook", "Degraded Synced")
	counted(0)
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(orphan), orphan); err != nil {
		t.Errorf("a foreign report without an ApplicationSet: %v", err)
	}
}

func TestReport_needsAPulledApplication(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.applicationSet("plain")
	w.passed()
	if _, err := w.read("plain"); !apierrors.IsNotFound(err) {
		t.Errorf("an ApplicationSet without pulled Applications got a report: %v", err)
	}

	a := w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	work := &metav1.PartialObjectMetadata{}
	work.SetGroupVersionKind(workKind)
	work.Namespace, work.Name = a.cluster, a.work()
	w.must(hub.Delete(t.Context(), work))
	testkit.Eventually(t, "an empty report: the ApplicationSet is still there", func() error {
		r, err := w.read("guestbook")
		if err == nil && (len(r.Statuses.ClusterConditions) > 0 || r.Statuses.Summary.Clusters != "0") {
			err = fmt.Errorf("%+v", r.Statuses)
		}
		return client.IgnoreNotFound(err)
	})
}
