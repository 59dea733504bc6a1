// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// An administrator upgrades the containers one at a time, in any order. So aggregation must read the output
// of any released propagation, resourcesync and aggregation, in every combination. It makes the same report
// from the output and never writes an incomplete report. A release adds a folder with the output of its
// three containers in the demo.
func TestUpgrade_readsTheOutputOfEveryRelease(t *testing.T) {
	releases, err := filepath.Glob("testdata/released/*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("no released output in testdata/released: %v", err)
	}
	for _, namespace := range []string{"argocd", "cluster1", "cluster2"} {
		if err := hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, propagation := range releases {
		for _, resourcesync := range releases {
			for _, aggregation := range releases {
				name := filepath.Base(propagation) + " " + filepath.Base(resourcesync) + " " + filepath.Base(aggregation)
				t.Run(name, func(t *testing.T) { readReleased(t, propagation, resourcesync, aggregation) })
			}
		}
	}
}

func readReleased(t *testing.T, propagation, resourcesync, aggregation string) {
	w := &world{t: t, namespace: "argocd"}
	set := w.applicationSet("guestbook")
	leave(t, set)
	for _, name := range []string{"cluster1", "cluster2"} {
		c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		w.must(hub.Create(t.Context(), c))
		leave(t, c)
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
		}}
		w.must(hub.Status().Update(t.Context(), c))
	}
	var works workv1.ManifestWorkList
	decode(t, filepath.Join(propagation, "manifestworks.json"), &works)
	for i := range works.Items {
		status := works.Items[i].Status
		w.must(hub.Create(t.Context(), &works.Items[i]))
		leave(t, &works.Items[i])
		works.Items[i].Status = status
		w.must(hub.Status().Update(t.Context(), &works.Items[i]))
	}
	var left v1alpha1.MulticlusterApplicationSetReport
	decode(t, filepath.Join(aggregation, "report.json"), &left)
	w.must(hub.Create(t.Context(), left.DeepCopy()))
	leave(t, left.DeepCopy())
	file, err := os.ReadFile(filepath.Join(resourcesync, "intermediate.json"))
	w.must(err)
	full := t.TempDir()
	w.must(os.WriteFile(filepath.Join(full, "argocd_guestbook.json"), file, 0o600))

	// Aggregation gets search's content from the file, or from the existing report while resourcesync is
	// replaced and the directory is empty. The third case has no report, which could hide that aggregation
	// cannot read the file.
	want := released(t, propagation, resourcesync)
	for _, c := range []struct {
		reason, dir string
		without     bool
	}{
		{"file and report", full, false},
		{"report without a file", t.TempDir(), false},
		{"file without a report", full, true},
	} {
		if c.without {
			w.must(hub.Delete(t.Context(), left.DeepCopy()))
		}
		through := &tap{}
		p := start(t, through, "--intermediate-dir="+c.dir)
		testkit.Eventually(t, c.reason+": a report", func() error {
			_, err := w.read("guestbook")
			return err
		})
		w.passed()
		report, err := w.read("guestbook")
		w.must(err)
		if diff := cmp.Diff(want, report.Statuses); diff != "" {
			t.Errorf("%s: the report differs from what the release made of the same input:\n%s", c.reason, diff)
		}
		if n := len(through.writesOf("argocd", "guestbook")); n > 1 {
			t.Errorf("%s: %d writes, want at most one: each one more showed something else in between", c.reason, n)
		}
		p.end(t)
	}
}

// released returns the expected report: the rows from propagation's release, and the resources from
// resourcesync's release.
func released(t *testing.T, propagation, resourcesync string) v1alpha1.AppSetStatuses {
	var rows, resources v1alpha1.MulticlusterApplicationSetReport
	decode(t, filepath.Join(propagation, "report.json"), &rows)
	decode(t, filepath.Join(resourcesync, "report.json"), &resources)
	rows.Statuses.Resources = resources.Statuses.Resources
	return rows.Statuses
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// leave deletes an object when the test ends.
func leave(t *testing.T, o client.Object) {
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(hub.Delete(context.Background(), o)); err != nil {
			t.Error(err)
		}
	})
}
