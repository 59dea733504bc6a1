// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

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

func TestUnreadableReportsAreSaidAndCounted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "argocd_guestbook.json")
	store := intermediate.NewStore(dir)
	x, _ := spied()
	var log strings.Builder
	f := &Feed{index: x, store: store, files: newFiles(), applicationSets: map[types.NamespacedName]types.UID{}, log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	f.setApplicationSet(guestbook, "")
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

// A standby has no reconciler that tells it to forget.
func TestWhatSearchSaidGoesWithTheApplicationSet(t *testing.T) {
	fileGoes := func(f *Feed, store *intermediate.Store) error {
		return errors.Join(store.Remove("argocd", "guestbook"), f.readReport("argocd", "guestbook"))
	}
	again := func(f *Feed) error { // what cannot be taken in now is to be tried again
		if err := f.readReport("argocd", "guestbook"); !errors.Is(err, errNoApplicationSet) {
			return fmt.Errorf("read without the ApplicationSet: %w", err)
		}
		return nil
	}
	work := func() *manifestcache.Work {
		return compact(t, manifestWork(guestbook, "a", "app", says("Healthy", "Synced")))
	}
	for name, test := range map[string]struct {
		why    string
		events func(f *Feed, store *intermediate.Store) error
		synced bool
		kept   bool
	}{
		"ApplicationSet goes": {"its file may go later", func(f *Feed, _ *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			return nil
		}, true, false},
		"file goes": {"resourcesync may have restarted with an empty directory", fileGoes, true, true},
		"file goes after it": {"it was written once more, and read, in between", func(f *Feed, store *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			return errors.Join(again(f), fileGoes(f, store))
		}, true, false},
		"file goes after the next one has come": {"it was read in between, of an ApplicationSet that was gone", func(f *Feed, store *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			err := again(f)
			f.setApplicationSet(guestbook, "next")
			return errors.Join(err, fileGoes(f, store))
		}, true, false},
		"file of the next one": {"what could not be taken in before is, once it has come", func(f *Feed, _ *intermediate.Store) error {
			f.deleteApplicationSet(guestbook)
			err := again(f)
			f.setApplicationSet(guestbook, "next")
			return errors.Join(err, f.readReport("argocd", "guestbook"))
		}, true, true},
		"another one in its place": {"one change says both when the watch was interrupted", func(f *Feed, _ *intermediate.Store) error {
			f.setApplicationSet(guestbook, "next")
			return nil
		}, true, false},
		"a change of it": {"it is the same one", func(f *Feed, _ *intermediate.Store) error {
			f.setApplicationSet(guestbook, "first")
			return nil
		}, true, true},
		"file goes at the start": {"an ApplicationSet that was not listed yet may be there", func(f *Feed, store *intermediate.Store) error {
			f.applicationSets = map[types.NamespacedName]types.UID{}
			return fileGoes(f, store)
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := intermediate.NewStore(t.TempDir())
			x, _ := spied()
			f := &Feed{index: x, store: store, files: newFiles(), applicationSets: map[types.NamespacedName]types.UID{}}
			f.synced = []toolscache.InformerSynced{func() bool { return test.synced }}
			f.setApplicationSet(guestbook, "first")
			f.setWork(work())
			if err := store.Write(&intermediate.Report{Namespace: "argocd", Name: "guestbook", Applications: []intermediate.Application{{
				Cluster: "a", Namespace: "argocd", Name: "app", Resources: []intermediate.Resource{{Kind: "Service", Name: "ui"}},
			}}}); err != nil {
				t.Fatal(err)
			}
			if err := f.readReport("argocd", "guestbook"); err != nil {
				t.Fatal(err)
			}
			if err := test.events(f, store); err != nil {
				t.Fatal(err)
			}
			f.index.DeleteWork(keyOf(work()))
			if kept := len(x.sets) > 0; kept != test.kept {
				t.Errorf("%s: what search said is kept: %t, want %t", test.why, kept, test.kept)
			}
			f.setWork(work()) // of another ApplicationSet of this name
			if shown := len(x.View(guestbook).Resources.Refs()) > 0; shown != test.kept {
				t.Errorf("%s: it is shown: %t, want %t", test.why, shown, test.kept)
			}
		})
	}
}
