// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// series counts aggregation's metric series for one report.
func series(t *testing.T, namespace, name string) int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if strings.HasPrefix(f.GetName(), "aggregation_") && labels["namespace"] == namespace && labels["name"] == name {
				n++
			}
		}
	}
	return n
}

// gauge returns the value of a gauge without labels.
func gauge(t *testing.T, name string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestPrune_deletesTheReportOfADeletedSet(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	set := w.applicationSet("guestbook")
	a := app{"guestbook", "app", w.cluster("cluster1", metav1.ConditionTrue)}
	w.deliver(a)
	w.report(a, healthy())
	w.row("guestbook", "Healthy Synced")
	testkit.Until(t, "metrics about the report", func() bool { return series(t, w.namespace, "guestbook") > 0 })

	w.must(hub.Delete(t.Context(), set))
	testkit.Eventually(t, "report and metrics gone", func() error {
		if _, err := w.read("guestbook"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("report: %w", err)
		}
		if n := series(t, w.namespace, "guestbook"); n > 0 {
			return fmt.Errorf("%d metric series", n)
		}
		return nil
	})
	w.report(a, values{"healthStatus": "Degraded"}) // its ManifestWork is still being removed
	w.passed()
	if _, err := w.read("guestbook"); !apierrors.IsNotFound(err) {
		t.Errorf("a late change brought the report back: %v", err)
	}
}

// At its start, aggregation deletes reports of ApplicationSets that were deleted while it was not
// running. It deletes a report only if the API server confirms that the ApplicationSet does not
// exist.
func TestPrune_deletesOnlyAfterAPositiveAnswer(t *testing.T) {
	isSet := func(r *http.Request, name string) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/applicationsets/"+name)
	}
	for name, test := range map[string]struct {
		why    string
		broken func() *http.Response
	}{
		"server error": {"an error is no answer", func() *http.Response { return answer(500, metav1.StatusReasonInternalError) }},
		"forbidden":    {"neither is a refusal", func() *http.Response { return answer(403, metav1.StatusReasonForbidden) }},
		"not served": {"a server that does not serve ApplicationSets says 404 as well", func() *http.Response {
			response := answer(404, "")
			response.Header.Set("Content-Type", "text/plain")
			response.Body = http.NoBody
			return response
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := start(t, &tap{}, "--intermediate-dir="+t.TempDir())
			a := w.lone("guestbook")
			w.row("guestbook", "Healthy Synced")
			first.end(t)
			set := w.applicationSetObject(a.set)
			w.must(hub.Delete(t.Context(), set))

			through := &tap{}
			asked := make(chan struct{}, 100)
			through.breakWith(func(r *http.Request) *http.Response {
				if !isSet(r, "guestbook") {
					return nil
				}
				select {
				case asked <- struct{}{}:
				default:
				}
				return test.broken()
			})
			start(t, through, "--intermediate-dir="+t.TempDir())
			<-asked
			<-asked // the process has handled the first answer
			if _, err := w.read("guestbook"); err != nil {
				t.Fatalf("%s: %v", test.why, err)
			}
			through.breakWith(nil)
			testkit.Eventually(t, "the report gone", func() error {
				if _, err := w.read("guestbook"); !apierrors.IsNotFound(err) {
					return fmt.Errorf("report: %w", err)
				}
				return nil
			})
		})
	}
}
