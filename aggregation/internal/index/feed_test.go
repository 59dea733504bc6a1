// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// metric returns the value of a metric without labels.
func metric(t *testing.T, name string) float64 {
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

func TestFeed_unreadableReportsAreLoggedAndCounted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "argocd_guestbook.json")
	store := intermediate.NewStore(dir)
	x, _ := spied()
	var log strings.Builder
	f := &Feed{index: x, store: store, files: newFiles(), exists: func(types.NamespacedName) bool { return true }, log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	good := &intermediate.Report{Namespace: "argocd", Name: "guestbook", Applications: []intermediate.Application{{
		Cluster: "a", Namespace: "argocd", Name: "app", Resources: []intermediate.Resource{{Kind: "Service", Name: "ui"}, {Kind: "Service"}},
	}}}
	put := func(content string) func() error {
		return func() error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for _, step := range []struct {
		why                 string
		do                  func() error
		failed              bool
		unreadable, refused float64
		said                int
	}{
		{"a good one, but for one entry", func() error { return store.Write(good) }, false, 0, 1, 1},
		{"damaged: what was said of the good one stands", put("{"), true, 1, 1, 2},
		{"tried again: nothing new", func() error { return nil }, true, 1, 1, 2},
		{"damaged otherwise", put("[]"), true, 1, 1, 3},
		{"mended", func() error { return store.Write(good) }, false, 0, 1, 3},
		{"damaged again", put("{"), true, 1, 1, 4},
		{"removed", func() error { return os.Remove(path) }, false, 0, 0, 4},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		err := f.readReport("argocd", "guestbook")
		if (err != nil) != step.failed {
			t.Errorf("%s: error %v", step.why, err)
		}
		unreadable, refused := metric(t, "aggregation_intermediate_reports_unreadable"), metric(t, "aggregation_intermediate_entries_refused")
		if unreadable != step.unreadable || refused != step.refused {
			t.Errorf("%s: %v reports are unreadable, %v entries refused; want %v and %v", step.why, unreadable, refused, step.unreadable, step.refused)
		}
		if said := strings.Count(log.String(), "\n"); said != step.said {
			t.Errorf("%s: said %d times, want %d:\n%s", step.why, said, step.said, log.String())
		}
	}
}

// Leader and standby drop the findings of search once both the ApplicationSet and its file are
// deleted. A re-created ApplicationSet does not change its file, so the file is not read again.
func TestFeed_dropsFindingsWithApplicationSetAndFile(t *testing.T) {
	removeFile := func(f *Feed, store *intermediate.Store) error {
		return errors.Join(store.Remove("argocd", "guestbook"), f.readReport("argocd", "guestbook"))
	}
	work := func() *manifestcache.Work {
		return compact(t, manifestWork(guestbook, "a", "app", shows("Healthy", "Synced")))
	}
	for name, test := range map[string]struct {
		why    string
		exists bool
		synced bool
		events func(f *Feed, store *intermediate.Store) error
		kept   bool
	}{
		"deleted, and made again": {"kubectl replace --force", true, true, func(f *Feed, _ *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			return nil
		}, true},
		"deleted": {"its file goes later", false, true, func(f *Feed, _ *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			return nil
		}, true},
		"deleted, then its file": {"resourcesync removes it", false, true, func(f *Feed, store *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			return removeFile(f, store)
		}, false},
		"file, then deleted": {"the file went while the ApplicationSet was there", true, true, func(f *Feed, store *intermediate.Store) error {
			err := removeFile(f, store)
			f.deleteApplicationSet(guestbook)
			return err
		}, false},
		"file only":         {"resourcesync may have restarted with an empty directory", true, true, removeFile, true},
		"file at the start": {"an ApplicationSet that was not listed yet may be there", false, false, removeFile, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := intermediate.NewStore(t.TempDir())
			x, _ := spied()
			f := &Feed{index: x, store: store, files: newFiles(), exists: func(types.NamespacedName) bool { return test.exists }}
			f.synced = []toolscache.InformerSynced{func() bool { return test.synced }}
			f.setWork(work())
			if err := errors.Join(store.Write(found(nil, deploys("a", "one"))), f.readReport("argocd", "guestbook")); err != nil {
				t.Fatal(err)
			}
			if err := test.events(f, store); err != nil {
				t.Fatal(err)
			}
			f.index.DeleteWork(keyOf(work()))
			if kept := len(x.sets) > 0; kept != test.kept {
				t.Errorf("%s: what search said is kept: %t, want %t", test.why, kept, test.kept)
			}
			f.setWork(work())
			if shown := resourceNames(x) == "one"; shown != test.kept {
				t.Errorf("%s: it is shown: %t, want %t", test.why, shown, test.kept)
			}
		})
	}
}

// The agent of a managed cluster may patch the annotations of every ManifestWork in its Namespace. A forged
// annotation gives it no row in another ApplicationSet's report.
func TestFeed_workOfAnotherNameHasNoRow(t *testing.T) {
	victim := types.NamespacedName{Namespace: "bank", Name: "payments"}
	for name, forge := range map[string]func(annotations map[string]string){
		"another namespace":   func(a map[string]string) { a[contract.HostingAnnotation] = victim.String() },
		"another Application": func(a map[string]string) { a[contract.HubNameAnnotation] = "payments-made-up" },
		"both": func(a map[string]string) {
			a[contract.HostingAnnotation], a[contract.HubNamespaceAnnotation], a[contract.HubNameAnnotation] = victim.String(), "bank", "payments-made-up"
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := spied()
			f := &Feed{index: x}
			work := manifestWork(guestbook, "hostile", "app", shows("Healthy", "Synced"))
			f.setWork(compact(t, work))
			expect(t, "its own row", len(x.View(guestbook).Rows), 1)
			forge(work.Annotations)
			f.setWork(compact(t, work))
			expect(t, "rows of the other ApplicationSet", len(x.View(victim).Rows), 0)
			expect(t, "rows of its own", len(x.View(guestbook).Rows), 0)
		})
	}
	long := strings.Repeat("a", 250)
	work := manifestWork(guestbook, "a", long, nil)
	work.Name = contract.WorkName(long, "abcde")
	if !belongs(compact(t, work)) {
		t.Error("a work whose name is shortened has no row")
	}
}
