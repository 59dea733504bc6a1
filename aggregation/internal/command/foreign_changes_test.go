// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/publish"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// shows waits until check accepts the report.
func (w *world) shows(report, what string, check func(*v1alpha1.MulticlusterApplicationSetReport) error) {
	w.t.Helper()
	testkit.Eventually(w.t, "report "+report+" "+what, func() error {
		r, err := w.read(report)
		if err != nil {
			return err
		}
		return check(r)
	})
}

func (w *world) patch(report, patch string) {
	w.t.Helper()
	m := publish.Metadata()
	m.Namespace, m.Name = w.namespace, report
	w.must(hub.Patch(w.t.Context(), m, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func noResources(r *v1alpha1.MulticlusterApplicationSetReport) error {
	if len(r.Statuses.Resources) > 0 {
		return fmt.Errorf("resources %v", r.Statuses.Resources)
	}
	return nil
}

// Without a search service, aggregation does not take resources or conditions from a report that another
// client changed.
func TestRepair_removesContentOfAnotherClient(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	a := w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	for _, round := range []string{"first", "second"} {
		r, err := w.read("guestbook")
		w.must(err)
		r.Statuses.Resources = []v1alpha1.ResourceRef{{APIVersion: "v1", Kind: "Secret", Name: round}}
		r.Statuses.ClusterConditions[0].Conditions = []v1alpha1.Condition{{Type: "MadeUpError", Message: round}}
		w.must(hub.Update(t.Context(), r))
		w.row("guestbook", "Healthy Synced")
		w.shows("guestbook", "without a stranger's resources", noResources)
	}
	degraded := healthy()
	degraded[contract.FeedbackHealthStatus] = "Degraded"
	w.report(a, degraded)
	w.row("guestbook", "Degraded Synced")
	w.shows("guestbook", "without a stranger's resources after a change", noResources)
}

// The same holds after a restart: aggregation removes content that another client wrote while no
// process was running.
func TestRepair_removesForeignContentAfterARestart(t *testing.T) {
	w := newWorld(t)
	missing := "--intermediate-dir=" + filepath.Join(t.TempDir(), "missing")
	first := start(t, &tap{}, missing)
	w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	first.end(t)
	r, err := w.read("guestbook")
	w.must(err)
	r.Statuses.Resources = []v1alpha1.ResourceRef{{APIVersion: "v1", Kind: "Secret", Name: "made-up"}}
	r.Statuses.ClusterConditions[0].Conditions = []v1alpha1.Condition{{Type: "MadeUpError", Message: "call 555"}}
	w.must(hub.Update(t.Context(), r))
	start(t, &tap{}, missing)
	w.shows("guestbook", "without a stranger's resources and conditions", func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		if made := r.Statuses.ClusterConditions[0].Conditions; len(made) > 0 {
			return fmt.Errorf("conditions %v", made)
		}
		return noResources(r)
	})
}

// The report's schema lets other clients write unknown fields into a row. Aggregation removes them.
func TestRepair_removesUnknownFields(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MulticlusterApplicationSetReport"))
	w.must(hub.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "guestbook"}, u))
	rows, _, err := unstructured.NestedSlice(u.Object, "statuses", "clusterConditions")
	w.must(err)
	row, ok := rows[0].(map[string]any)
	if !ok {
		t.Fatalf("row %v", rows[0])
	}
	row["extra"] = map[string]any{"a": "b"}
	w.must(unstructured.SetNestedSlice(u.Object, rows, "statuses", "clusterConditions"))
	w.must(hub.Update(t.Context(), u))
	testkit.Eventually(t, "the field gone", func() error {
		w.must(hub.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "guestbook"}, u))
		if rows, _, _ := unstructured.NestedSlice(u.Object, "statuses", "clusterConditions"); strings.Contains(fmt.Sprint(rows), "extra") {
			return fmt.Errorf("rows %v", rows)
		}
		return nil
	})
	w.row("guestbook", "Healthy Synced")
}

// The watch may report a deletion before aggregation's earlier write returns. Aggregation then re-creates
// the report.
func TestRepair_recreatesAReportDeletedDuringAWrite(t *testing.T) {
	w := newWorld(t)
	through := &tap{}
	start(t, through, "--intermediate-dir="+t.TempDir())
	a := w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	direct, err := rest.HTTPClientFor(config)
	w.must(err)
	watching, err := client.NewWithWatch(config, client.Options{Scheme: hub.Scheme()})
	w.must(err)
	events, err := watching.Watch(t.Context(), &v1alpha1.MulticlusterApplicationSetReportList{}, client.InNamespace(w.namespace))
	w.must(err)
	defer events.Stop()

	var once sync.Once
	through.breakWith(func(r *http.Request) *http.Response {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, w.namespace+"/multiclusterapplicationsetreports/guestbook") {
			return nil
		}
		var response *http.Response
		once.Do(func() {
			again := r.Clone(context.Background())
			again.RequestURI = ""
			var err error
			if response, err = direct.Do(again); err != nil { //nolint:bodyclose // the process reads and closes it
				t.Error(err)
				return
			}
			report := publish.Metadata()
			report.Namespace, report.Name = w.namespace, "guestbook"
			if err := hub.Delete(context.Background(), report); err != nil {
				t.Error(err)
			}
			for event := range events.ResultChan() { // the process receives it at the same time
				if event.Type == watch.Deleted {
					break
				}
			}
		})
		return response
	})
	degraded := healthy()
	degraded[contract.FeedbackHealthStatus] = "Degraded"
	w.report(a, degraded)
	w.row("guestbook", "Degraded Synced") // written, deleted, and written again
	testkit.Eventually(t, "a report that was created after the first", func() error {
		if n := strings.Count(strings.Join(through.reportsWritten(), "\n"), "POST"); n < 2 {
			return fmt.Errorf("%d creations", n)
		}
		return nil
	})
}

// A tool may prune labels. Aggregation still owns a report without its label: it repairs or deletes the
// report.
func TestRepair_restoresTheLabel(t *testing.T) {
	w := newWorld(t)
	first := start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	a := w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	labelled := func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		if r.Labels[contract.ReportLabel] == "" {
			return errors.New("no label")
		}
		return nil
	}
	w.patch("guestbook", `{"metadata":{"labels":null}}`)
	w.shows("guestbook", "with its label again", labelled)
	degraded := healthy()
	degraded[contract.FeedbackHealthStatus] = "Degraded"
	w.report(a, degraded)
	w.row("guestbook", "Degraded Synced")

	first.end(t)
	w.patch("guestbook", `{"metadata":{"labels":null}}`)
	second := start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.shows("guestbook", "with its label again after a restart", labelled)

	second.end(t)
	w.patch("guestbook", `{"metadata":{"labels":null}}`)
	w.must(hub.Delete(t.Context(), w.applicationSetObject("guestbook")))
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	testkit.Eventually(t, "the report gone with its ApplicationSet", func() error {
		if _, err := w.read("guestbook"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("report: %w", err)
		}
		return nil
	})
}

// A re-created ApplicationSet (kubectl replace --force) keeps the resources of its Applications, because
// search's file about them has not changed. If aggregation did not run at the deletion, it drops them.
func TestApplicationSet_keepsResourcesIfRecreated(t *testing.T) {
	whole := func(w *world, a app) *intermediate.Report {
		return &intermediate.Report{Namespace: w.namespace, Name: a.set, Applications: []intermediate.Application{{
			Cluster: a.cluster, Namespace: w.namespace, Name: a.name, Resources: []intermediate.Resource{{APIVersion: "v1", Kind: "Secret", Name: "kept"}},
		}}}
	}
	shown := func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		if len(r.Statuses.Resources) != 1 {
			return fmt.Errorf("resources %v", r.Statuses.Resources)
		}
		return nil
	}
	gone := func(w *world) {
		t.Helper()
		testkit.Eventually(t, "the report gone", func() error {
			if _, err := w.read("guestbook"); !apierrors.IsNotFound(err) {
				return fmt.Errorf("report: %w", err)
			}
			return nil
		})
	}
	again := func(w *world, says string, check func(*v1alpha1.MulticlusterApplicationSetReport) error) {
		t.Helper()
		w.applicationSet("guestbook") // its Application is still delivered
		w.row("guestbook", "Healthy Synced")
		w.shows("guestbook", says, check)
	}
	t.Run("leader", func(t *testing.T) {
		w := newWorld(t)
		dir := t.TempDir()
		start(t, &tap{}, "--intermediate-dir="+dir)
		a := w.lone("guestbook")
		w.must(intermediate.NewStore(dir).Write(whole(w, a)))
		w.shows("guestbook", "with resources", shown)
		w.must(hub.Delete(t.Context(), w.applicationSetObject("guestbook")))
		gone(w)
		again(w, "with its resources again", shown)
	})
	t.Run("gone while aggregation did not run", func(t *testing.T) {
		w := newWorld(t)
		dir := t.TempDir()
		first := start(t, &tap{}, "--intermediate-dir="+dir)
		a := w.lone("guestbook")
		w.must(intermediate.NewStore(dir).Write(whole(w, a)))
		w.shows("guestbook", "with resources", shown)
		first.end(t)
		w.must(hub.Delete(t.Context(), w.applicationSetObject("guestbook")))
		start(t, &tap{}, "--intermediate-dir="+t.TempDir())
		gone(w)
		again(w, "without what only the old report had", noResources)
	})
	t.Run("standby", func(t *testing.T) {
		w := newWorld(t)
		dirs := []string{t.TempDir(), t.TempDir()}
		leader := start(t, &tap{}, append(elect, "--intermediate-dir="+dirs[0])...)
		a := w.lone("guestbook")
		w.row("guestbook", "Healthy Synced")
		start(t, &tap{}, append(elect, "--intermediate-dir="+dirs[1])...)
		for _, dir := range dirs {
			w.must(intermediate.NewStore(dir).Write(whole(w, a)))
		}
		w.shows("guestbook", "with resources", shown)
		w.must(hub.Delete(t.Context(), w.applicationSetObject("guestbook")))
		gone(w)
		leader.end(t)
		again(w, "with its resources again", shown)
	})
}
